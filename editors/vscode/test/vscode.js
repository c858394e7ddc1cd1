// The part of VS Code's interface that the extension and vscode-languageclient call; what tests need of it is recorded.

const { fileURLToPath, pathToFileURL } = require('node:url');

class Disposable {
  constructor(dispose = () => {}) {
    this.dispose = dispose;
  }
}

class EventEmitter {
  #listeners = new Set();
  event = (listener, self) => {
    const bound = self ? listener.bind(self) : listener;
    this.#listeners.add(bound);
    return new Disposable(() => this.#listeners.delete(bound));
  };
  fire(value) {
    return Promise.all([...this.#listeners].map((listener) => listener(value)));
  }
  dispose() {
    this.#listeners.clear();
  }
}

class Uri {
  constructor(text) {
    this.text = text;
    this.scheme = text.split(':')[0];
    this.fsPath = this.scheme === 'file' ? fileURLToPath(text) : text;
  }
  static parse = (text) => new Uri(text);
  static file = (path) => new Uri(pathToFileURL(path).href);
  toString() {
    return this.text;
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(...at) {
    const [start, end] = at.length === 4 ? [new Position(at[0], at[1]), new Position(at[2], at[3])] : at;
    Object.assign(this, { start, end });
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
  static Empty = new CodeActionKind('');
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() };
  cancel() {}
  dispose() {}
}

// Whatever else is asked for: a class for a type or an enumeration, an event that never comes, or a registration.
const rest = (known) =>
  new Proxy(known, {
    get: (target, name) => {
      if (!(name in target) && typeof name === 'string') {
        target[name] = /^[A-Z]/.test(name) ? class {} : () => new Disposable();
      }
      return target[name];
    },
  });

function fake({ folders = [], settings = {}, trusted = true }) {
  const opened = new EventEmitter();
  const shown = new EventEmitter();
  const seen = { commands: {}, diagnostics: new Map(), providers: {}, log: [], item: { dispose() {} } };
  const collection = {
    set: (uri, found) => seen.diagnostics.set(String(uri), found),
    delete: (uri) => seen.diagnostics.delete(String(uri)),
    clear: () => seen.diagnostics.clear(),
    dispose() {},
  };
  const log = (text) => seen.log.push(text);
  const providers = ['CodeActions', 'CodeLens', 'DocumentSymbol', 'Hover'];
  const api = rest({
    CancellationTokenSource, CodeActionKind, Diagnostic, Disposable, EventEmitter, Position, Range, Uri,
    CancellationError: class extends Error {},
    LanguageStatusSeverity: { Information: 0, Warning: 1, Error: 2 },
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    version: '1.91.0',
    env: rest({ appName: 'test', language: 'en' }),
    commands: rest({ registerCommand: (name, run) => ((seen.commands[name] = run), new Disposable()) }),
    languages: rest({
      createDiagnosticCollection: () => collection,
      createLanguageStatusItem: () => seen.item,
      match: (selector, document) => Number(selector.some((one) => one.language === document.languageId)),
      ...Object.fromEntries(
        providers.map((name) => [
          `register${name}Provider`,
          (_, provider) => ((seen.providers[name] = provider), new Disposable(() => delete seen.providers[name])),
        ]),
      ),
    }),
    window: rest({
      createOutputChannel: () => rest({ info: log, error: log, warn: log, append: log, appendLine: log, show() {}, logLevel: 3 }),
      activeTextEditor: undefined,
      onDidChangeActiveTextEditor: shown.event,
      visibleTextEditors: [],
      tabGroups: rest({ all: [] }),
    }),
    workspace: rest({
      isTrusted: trusted,
      textDocuments: [],
      notebookDocuments: [],
      workspaceFolders: folders.map((folder) => ({ uri: Uri.file(folder), name: folder })),
      getConfiguration: () => ({ get: (name, usual) => settings[name] ?? usual }),
      onDidOpenTextDocument: opened.event,
    }),
  });
  const open = (file, text) => {
    const document = { uri: Uri.file(file), languageId: 'yaml', version: 1, getText: () => text, fileName: file, isClosed: false };
    api.workspace.textDocuments.push(document);
    api.window.activeTextEditor = { document };
    return opened.fire(document).then(() => shown.fire(api.window.activeTextEditor)).then(() => document);
  };
  return { api, seen, open };
}

module.exports = { fake };
