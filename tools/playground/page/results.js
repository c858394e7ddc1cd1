// Draws answers. Texts of authors are set as text, never as markup.
let rules = new Set();

export function learn(names) {
  rules = new Set(names);
}

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const link = (rule) => (rules.has(rule) ? element("a", { href: `../rules/${rule}/`, textContent: rule }) : rule);

// The text with each name of a rule as link to its page.
export function linked(text) {
  const parts = text.split(/((?<![\w./-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-]))/);
  return parts.map((part, at) => (at % 2 && rules.has(part) ? link(part) : part));
}

// The message with the line that it begins with.
export const sentence = (one) => (one.since ? `${one.message} [since line ${one.since}]` : one.message);

export function summary({ report, view, code }) {
  if (!report) return view === "explain" ? "A message, explained" : "";
  const { objects, errors, warnings, operatorLine } = report.summary;
  const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const by = operatorLine ? ` for operator ${operatorLine}` : "";
  const unread = report.unreadable.length ? ", unreadable" : "";
  return `${many(objects, "object")}${by}: ${many(errors, "error")}, ${many(warnings, "warning")}${unread}${code > 6 ? ", internal error" : ""}`;
}

export function draw(answer, jump) {
  const parts = answer.view === "check" && answer.report ? findings(answer.report, jump) : [];
  if (answer.text) parts.push(element("pre", {}, ...linked(answer.text)));
  if (answer.notes && !(answer.view === "check" && answer.report?.unreadable.length)) parts.push(element("pre", { className: "notes" }, ...linked(answer.notes)));
  return parts.length ? parts : [element("p", { className: "dim", textContent: "Nothing to say." })];
}

function findings(report, jump) {
  const rows = report.findings.map((one) => row(one, one.level, jump, link(one.rule), one.path, sentence(one), one.fix && `fix: ${one.fix}`));
  rows.push(...report.unreadable.map((one) => row(one, "error", jump, "unreadable", "", one.message, "")));
  for (const note of report.notEvaluated) {
    rows.push(row(note, "", jump, link(note.rule), "", `not evaluated: ${note.reason}`, note.flag && `supply ${note.flag}`));
  }
  if (rows.length) return [element("ol", {}, ...rows)];
  return report.summary.objects ? [element("p", { className: "clean", textContent: "No findings." })] : [];
}

function row(one, level, jump, rule, path, message, more) {
  const place = element("button", { type: "button", className: "place", textContent: one.column ? `${one.line}:${one.column}` : `${one.line ?? 1}` });
  place.setAttribute("aria-label", `${place.textContent}, go to this line`);
  place.onclick = () => jump(one.line ?? 1, one.column ?? 1);
  const made = element("li", { className: level }, place, element("span", { className: "level", textContent: level ? `${level} ` : "" }), rule);
  if (path) made.append(element("p", {}, element("code", { textContent: path })));
  made.append(element("p", { textContent: message }));
  if (more) made.append(element("p", { className: "dim", textContent: more }));
  return made;
}
