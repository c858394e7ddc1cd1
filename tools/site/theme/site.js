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

// The rules that say a message: those that it names in brackets, else those whose texts fill most of it, as `explain` finds them.
const rulesSaying = (text, texts) => {
  const named = [...text.matchAll(/\[([a-z0-9-]+)\]/g)].map(([, name]) => name).filter((name) => name in texts);
  if (named.length) return named;
  const line = text.replace(/\s+/g, " ");
  const said = (piece) => (line.includes(piece) ? piece.length : line.length >= 12 && piece.includes(line) ? line.length : 0);
  const scores = Object.entries(texts).map(([name, pieces]) => [name, pieces.reduce((sum, piece) => sum + said(piece), 0)]);
  const best = (found) => found.filter(([, score]) => score === Math.max(...found.map(([, one]) => one)));
  const equal = best(scores.filter(([, score]) => score >= 12));
  // many rules have a list of allowed values: then the one whose name has the words of the field
  const field = line.replace(/"[^"]*"/g, "").toLowerCase();
  const alike = ([name]) => [name, name.split("-").filter((word) => field.includes(word)).length];
  return (equal.length > 3 ? best(equal.map(alike)) : equal).map(([name]) => name);
};

const search = document.querySelector("[data-md-component=search-query]");
const base = new URL(JSON.parse(document.getElementById("__config").textContent).base, location);
const said = Object.assign(document.createElement("p"), { className: "said" });
document.querySelector(".md-search-result__meta")?.before(said);
let texts;
const point = async (message) => {
  texts ??= fetch(new URL("messages.json", `${base}/`)).then((answer) => answer.json());
  const links = rulesSaying(message, await texts).map((name) => {
    const address = new URL(`rules/${name}/`, `${base}/`).href;
    return Object.assign(document.createElement("a"), { href: address, textContent: name });
  });
  said.replaceChildren(...(links.length ? ["A message of the rule ", ...links.flatMap((link) => [" ", link])] : []));
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
