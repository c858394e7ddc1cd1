// What pages can't do without a script: filter the index of rules, and lead from a message to its rule.
const box = document.querySelector(".filters");
if (box) {
  const rows = [...document.querySelectorAll("tr[data-rule]")];
  const fields = [...box.querySelectorAll("select, input")];
  const told = document.getElementById("shown");
  const matches = (row, { name, value }) => {
    if (!value) return true;
    if (name === "words") return value.toLowerCase().split(/\s+/).every((word) => row.textContent.toLowerCase().includes(word));
    return row.dataset[name].split(" ").includes(value);
  };
  const filter = () => {
    for (const row of rows) row.hidden = !fields.every((field) => matches(row, field));
    told.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rules`;
    const asked = new URLSearchParams(fields.filter(({ value }) => value).map(({ name, value }) => [name, value]));
    history.replaceState(null, "", asked.size ? `?${asked}` : location.pathname);
  };
  for (const [name, value] of new URLSearchParams(location.search)) {
    const field = fields.find((one) => one.name === name);
    if (field) field.value = value;
  }
  box.addEventListener("input", filter);
  box.hidden = false;
  filter();
}

// The rules that say a message, cause by cause: those that it names in brackets, those of the Go operator's words, else those whose texts
// fill most of it, as `explain` finds them.
const JOINTS = /\n(?=Error from server|error: |The \w+ ")|; (?=\S+: )|\n\s*\* |\], \[|, (?=(?:spec|metadata)(?:[.[]\S*)?: |<nil>: )/;
// A text without its last cause if that is cut off: what it would have said is unknown.
const withoutCut = (text) => {
  const causes = text.split(JOINTS);
  const isCut = causes.length > 1 && /is invalid: \[/.test(text) && !text.trimEnd().endsWith("]");
  return isCut ? text.slice(0, -causes.at(-1).length) : text;
};
const rulesSaying = (text, answers) => {
  const causes = text.split(JOINTS);
  const kinds = [...text.matchAll(/\b(Dynamo[A-Za-z]+)(?:\.nvidia\.com)? "/g)].map(([, kind]) => kind);
  const operator = answers.operator.filter(([, of]) => !kinds.length || of.some((kind) => kinds.includes(kind)));
  return [...new Set(causes.flatMap((cause) => rulesOfCause(cause, { ...answers, operator })))];
};
const rulesOfCause = (text, { rules, operator }) => {
  const named = [...text.matchAll(/\[([a-z0-9-]+)\]/g)].map(([, name]) => name).filter((name) => name in rules);
  if (named.length) return named;
  const line = text.replace(/\s+/g, " ");
  const best = (found) => found.filter(([, score]) => score === Math.max(...found.map(([, one]) => one)));
  const theirs = best(operator.filter(([, , pieces]) => hasInOrder(line, pieces)).map(([name, , pieces]) => [name, pieces.join("").length]));
  if (theirs.length) return theirs.map(([name]) => name);
  if (/Invalid value: "(?:object|array|string|map)": (?!spec\S* in body)/.test(line)) return ["schema-rule"];
  const said = (piece) => (line.includes(piece) ? piece.length : line.length >= 12 && piece.includes(line) ? line.length : 0);
  // short pieces, such as "must be", are in the messages of any rule: they count where no longer one is in the message
  const scored = (shortest) =>
    Object.entries(rules).map(([name, pieces]) => {
      const there = pieces.filter((piece) => piece.length >= shortest && said(piece));
      const whole = there.filter((piece) => !there.some((other) => other !== piece && other.includes(piece)));
      return [name, whole.reduce((sum, piece) => sum + said(piece), 0)];
    });
  const found = [8, 0].map((shortest) => best(scored(shortest).filter(([, score]) => score >= 12)));
  const equal = found.find((one) => one.length) ?? [];
  // many rules have a list of allowed values: then the one whose name has the words of the field
  const field = line.replace(/"[^"]*"/g, "").toLowerCase();
  const alike = ([name]) => [name, name.split("-").filter((word) => field.includes(word)).length];
  return (equal.length > 3 ? best(equal.map(alike)) : equal).map(([name]) => name);
};
const hasInOrder = (line, pieces) => {
  let at = 0;
  return pieces.every((piece) => {
    const found = line.indexOf(piece, at);
    at = found + piece.length;
    return found >= 0;
  });
};

// The messages of the API server and of kubectl in a text, and the commands that have a flag: each a link, as words and a place of the site.
const linksOf = (pasted, answers) => {
  const text = withoutCut(pasted);
  const flag = answers.flags[text.trim()];
  if (flag) return flag.map((command) => [`${command} ${text.trim()}`, `commands/${command}/#${text.trim().slice(2)}`]);
  const ours = rulesSaying(text, answers);
  if (ours.length) return ours.map((name) => [name, `rules/${name}/`]);
  const known = answers.known.filter(([, , , pattern]) => new RegExp(pattern, "is").test(text));
  const alone = known.length && answers.known.indexOf(known[0]) < answers.transport;
  return (alone ? known.slice(0, 1) : known).map(([name, shown, rule]) => (rule ? [rule, `rules/${rule}/`] : [shown, `refusals/#${name}`]));
};

const search = document.querySelector("[data-md-component=search-query]");
const base = new URL(JSON.parse(document.getElementById("__config").textContent).base, location);
const said = Object.assign(document.createElement("p"), { className: "said" });
document.querySelector(".md-search-result__meta")?.before(said);
let texts;
const point = async (message) => {
  texts ??= fetch(new URL("messages.json", base)).then((answer) => answer.json());
  const links = linksOf(message, await texts).map(([textContent, place]) =>
    Object.assign(document.createElement("a"), { href: new URL(place, base).href, textContent }),
  );
  said.replaceChildren(...(links.length ? ["Explained in ", ...links.flatMap((link) => [" ", link])] : []));
};
search?.addEventListener("input", () => point(search.value));
// Punctuation of a message means something to the search ("field:", "-not"), so that only its words are asked for.
search?.addEventListener("paste", (event) => {
  const message = event.clipboardData.getData("text");
  event.preventDefault();
  search.value = message.replace(/[^\p{L}\p{N}]+/gu, " ").trim().slice(0, 400);
  search.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  point(message);
});
