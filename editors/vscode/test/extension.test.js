// The bundle as VS Code would run it, with a real language server: DYNAMO_WEBHOOKS names its command, else the PATH has it.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { afterEach, test } = require('node:test');
const { fake } = require('./vscode.js');

const BUNDLE = path.join(__dirname, '..', 'dist', 'extension.js');
const COMMAND = process.env.DYNAMO_WEBHOOKS ?? 'dynamo-webhooks';
const WAIT = 120_000; // milliseconds
const GRAPH = `apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat}
spec:
  components:
  - {name: ui, type: frontend, replicas: -1, typo: 1}
`;

let extension;
const folders = [];

function folder() {
  folders.push(fs.mkdtempSync(path.join(os.tmpdir(), 'vscode-')));
  return folders.at(-1);
}

// A fresh instance of the bundle, for which the module `vscode` is the fake one.
function load(vscode) {
  const resolve = Module._load;
  Module._load = (name, ...more) => (name === 'vscode' ? vscode.api : resolve(name, ...more));
  try {
    delete require.cache[BUNDLE];
    extension = require(BUNDLE);
  } finally {
    Module._load = resolve;
  }
  return extension;
}

afterEach(async () => {
  await extension.deactivate();
  folders.splice(0).forEach((one) => fs.rmSync(one, { recursive: true }));
});

async function until(vscode, look) {
  const end = Date.now() + WAIT;
  for (;;) {
    const found = await look();
    if (found) {
      return found;
    }
    assert.ok(Date.now() < end, `nothing came; the log: ${vscode.seen.log.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function begin(settings = {}) {
  const here = folder();
  const vscode = fake({ folders: [here], settings: { path: COMMAND, ...settings } });
  await load(vscode).activate({ subscriptions: [], extensionPath: here });
  const document = await vscode.open(path.join(here, 'chat.yaml'), GRAPH);
  const codes = () => vscode.seen.diagnostics.get(String(document.uri))?.map((one) => one.code);
  return { vscode, document, codes };
}

test('findings, their places, an outline and the status come from the server', async () => {
  const { vscode, document, codes } = await begin({ arguments: ['--line', '1.2', '--set-fact', 'grove=false'] });
  assert.deepEqual((await until(vscode, codes)).sort(), ['replicas-non-negative', 'unknown-field']);
  const [first] = vscode.seen.diagnostics.get(String(document.uri));
  assert.equal(first.range.start.line, 5);
  const { DocumentSymbol: outline } = await until(vscode, () => vscode.seen.providers.DocumentSymbol && vscode.seen.providers);
  const [graph] = await outline.provideDocumentSymbols(document, new vscode.api.CancellationTokenSource().token);
  assert.equal(graph.constructor, vscode.api.DocumentSymbol);
  await until(vscode, () => vscode.seen.item.text === 'Dynamo 1.2');
  assert.equal(vscode.seen.item.detail, 'facts: grove');
});

test('a restart ends the server and starts another', async () => {
  const { vscode, codes, document } = await begin();
  await until(vscode, codes);
  vscode.seen.diagnostics.clear();
  await vscode.seen.commands['dynamoWebhooks.restart']();
  await until(vscode, codes);
  assert.equal(vscode.seen.log.filter((line) => String(line).startsWith('starting ')).length, 2);
  assert.equal(document.isClosed, false);
});

test('findings of the schema can be hidden', async () => {
  const { vscode, codes } = await begin({ 'diagnostics.schema': 'off', arguments: ['--line', '1.2'] });
  assert.deepEqual(await until(vscode, codes), ['replicas-non-negative']);
});

test('nothing starts in a workspace that is not trusted', async () => {
  const here = folder();
  const trap = path.join(here, 'trap');
  fs.writeFileSync(trap, `#!/bin/sh\ntouch '${here}/trapped'\n`, { mode: 0o755 });
  const vscode = fake({ folders: [here], settings: { path: trap }, trusted: false });
  await load(vscode).activate({ subscriptions: [], extensionPath: here });
  await vscode.seen.commands['dynamoWebhooks.restart']();
  assert.deepEqual(vscode.seen.log, []);
  assert.ok(!fs.existsSync(path.join(here, 'trapped')));
});

test('a server that can not start is told in the status', async () => {
  const { vscode } = await begin({ path: path.join(os.tmpdir(), 'no-such-program') });
  await until(vscode, () => vscode.seen.item.text === 'Dynamo: off');
  assert.match(vscode.seen.item.detail, /no-such-program \(from the setting dynamoWebhooks\.path\) did not start: .*ENOENT/);
});

test('a server without its packages is passed over for the next one, and told in the log and, alone, in the status', async () => {
  const bin = path.join(folder(), 'bin');
  fs.mkdirSync(bin);
  const lacking = path.join(bin, 'dynamo-webhooks');
  fs.writeFileSync(lacking, '#!/bin/sh\necho a warning >&2\necho it needs packages >&2\nexit 2\n', { mode: 0o755 });
  const { vscode: off } = await begin({ path: lacking });
  assert.deepEqual([off.seen.item.text, off.seen.item.detail.split('did not start: ')[1]], ['Dynamo: off', 'it needs packages']);

  const work = folder();
  fs.cpSync(bin, path.join(work, '.venv', 'bin'), { recursive: true });
  const usual = process.env.PATH;
  process.env.PATH = `${path.dirname(COMMAND)}${path.delimiter}${usual}`;
  const vscode = fake({ folders: [work] });
  await load(vscode).activate({ subscriptions: [], extensionPath: work });
  process.env.PATH = usual;
  assert.match(vscode.seen.log[0], /^passed over .*\.venv.* it needs packages$/);
  assert.match(vscode.seen.log[1], /^starting .*\(from the PATH\)$/);
});
