// The page: an editor, a tab for each command, and the engine between them.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { Engine } from "./engine.js";
import { LARGEST, pack, unpack } from "./fragment.js";
import { draw, element, learn, sentence, summary } from "./results.js";
import EXAMPLE from "./example.yaml";

const VIEWS = { check: "check", answer: "check --answer", convert: "convert", default: "default", render: "render", explain: "explain" };
const PAUSE = 120; // milliseconds without a key before a question
const [version, line, facts, tabs, status, panel, copy] = ["version", "line", "facts", "tabs", "status", "panel", "link"].map((id) => document.getElementById(id));
let view = "check";
let timer = 0;
let told = ""; // the fragment that this page has set

const editor = new EditorView({
  parent: document.getElementById("editor"),
  extensions: [
    lineNumbers(), lintGutter(), history(), drawSelection(), highlightActiveLine(), highlightActiveLineGutter(), bracketMatching(), yaml(),
    syntaxHighlighting(classHighlighter), EditorState.tabSize.of(2), EditorView.cspNonce.of("editor"),
    keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]), // without Tab, which moves the focus on
    EditorView.contentAttributes.of({ "aria-label": "Manifest or refusal", tabindex: "0", spellcheck: "false" }),
    EditorView.updateListener.of((update) => update.docChanged && soon()),
  ],
});
const engine = new Engine(hear);

function soon() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

async function ask(rewrite = "") {
  clearTimeout(timer);
  const state = { text: editor.state.doc.toString(), view, line: line.value, facts: facts.value };
  if (state.text.length > LARGEST) {
    return say(`The text must have at most ${LARGEST / 1024} KiB here, got ${Math.ceil(state.text.length / 1024)}; use the commands on your machine.`);
  }
  if (line.value) engine.ask({ ...state, view: rewrite || view });
  panel.setAttribute("aria-busy", "true");
  const fragment = await pack(state);
  if (state.text === editor.state.doc.toString()) {
    told = fragment;
    window.history.replaceState(null, "", fragment || location.pathname + location.search);
  }
}

function hear(message, question) {
  if (message.ready) {
    learn(message.ready.rules);
    if (!line.value) {
      const wanted = line.dataset.wanted;
      line.replaceChildren(...message.ready.lines.map((one) => element("option", { textContent: one })));
      line.value = message.ready.lines.includes(wanted) ? wanted : message.ready.usual;
      ask();
    }
    return;
  }
  panel.removeAttribute("aria-busy");
  if (!message.answer) return say(message.failed ?? message.fatal);
  const { answer } = message;
  if (question.view.startsWith("v1")) {
    if (answer.code === 0 && answer.text) return editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: answer.text } });
    version.value = answer.version;
    return say(answer.notes);
  }
  version.value = answer.version;
  version.disabled = !answer.version;
  select(answer.view);
  status.textContent = summary(answer);
  status.dataset.milliseconds = message.milliseconds;
  panel.replaceChildren(...draw(answer, jump));
  editor.dispatch(setDiagnostics(editor.state, marks(answer.report)));
}

function say(words) {
  panel.removeAttribute("aria-busy");
  status.textContent = "";
  panel.replaceChildren(element("pre", { className: "notes", textContent: words }));
  editor.dispatch(setDiagnostics(editor.state, []));
}

function marks(report) {
  if (!report) return [];
  const unread = report.unreadable.map((one) => ({ ...one, level: "error", rule: "unreadable" }));
  return [...report.findings, ...unread].filter((one) => one.line).map((one) => {
    const from = offset(one.line, one.column ?? 1);
    const to = one.endColumn ? offset(one.line, one.endColumn) : editor.state.doc.lineAt(from).to;
    return { from, to: Math.max(from, to), severity: one.level === "warning" ? "warning" : "error", source: one.rule, message: sentence(one) };
  });
}

// The place in the editor, which counts UTF-16 units; columns count characters.
function offset(number, column) {
  const { doc } = editor.state;
  const { from, text } = doc.line(Math.min(Math.max(number, 1), doc.lines));
  return from + Array.from(text).slice(0, column - 1).join("").length;
}

function jump(number, column) {
  editor.dispatch({ selection: { anchor: offset(number, column) }, scrollIntoView: true });
  editor.focus();
}

function select(chosen) {
  for (const tab of tabs.children) {
    tab.setAttribute("aria-selected", String(tab.dataset.view === chosen));
    tab.tabIndex = tab.dataset.view === chosen ? 0 : -1;
  }
  panel.setAttribute("aria-labelledby", `tab-${chosen}`);
}

function choose(chosen) {
  view = chosen;
  select(chosen);
  ask();
}

for (const [name, words] of Object.entries(VIEWS)) {
  const tab = element("button", { type: "button", id: `tab-${name}`, textContent: words, onclick: () => choose(name) });
  tab.dataset.view = name;
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", "panel");
  tabs.append(tab);
}
tabs.onkeydown = ({ key, target }) => {
  const all = [...tabs.children];
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
  const next = key === "Home" ? all[0] : key === "End" ? all.at(-1) : step && all.at((all.indexOf(target) + step) % all.length);
  next?.focus();
  next?.click();
};
version.onchange = () => ask(version.value);
line.onchange = () => ask();
facts.oninput = soon;
copy.onclick = async () => {
  await ask();
  await navigator.clipboard?.writeText(location.href);
  copy.textContent = told ? "Copied" : "Too long for a link";
  setTimeout(() => (copy.textContent = "Copy link"), 2_000);
};

async function restore() {
  const state = await unpack(location.hash);
  [view, facts.value, line.dataset.wanted] = state && Object.hasOwn(VIEWS, state.view) ? [state.view, state.facts, state.line] : ["check", "", ""];
  if ([...line.options].some((one) => one.value === state?.line)) line.value = state.line;
  select(view);
  editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: state?.text ?? EXAMPLE } });
}
window.onhashchange = () => location.hash !== told && restore();
restore();
navigator.serviceWorker?.register("sw.js").catch(() => {}); // without one, the page still works while it is online
