// Starts the language server in trusted workspaces, shows what it judges by, and restarts it on demand or when a setting changes.

import * as vscode from 'vscode';
import { Executable, LanguageClient, RevealOutputChannelOn, State } from 'vscode-languageclient/node';
import { findPrograms, findReason } from './find';

const NAME = 'dynamo-webhooks';
const SECTION = 'dynamoWebhooks';
const SELECTOR = [{ scheme: 'file', language: 'yaml' }];

interface Status {
  version: string;
  line: string;
  facts: string[];
}

let client: LanguageClient | undefined;
let turn: Promise<void> = Promise.resolve(); // starts and stops come one after another

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel('Dynamo', { log: true });
  const item = vscode.languages.createLanguageStatusItem(NAME, SELECTOR);
  item.name = 'Dynamo';
  const again = () => (turn = turn.then(() => stop()).then(() => start(context, output, item)));
  context.subscriptions.push(
    output,
    item,
    vscode.commands.registerCommand(`${SECTION}.restart`, again),
    vscode.commands.registerCommand(`${SECTION}.showOutput`, () => output.show()),
    vscode.workspace.onDidChangeConfiguration((change) => (change.affectsConfiguration(SECTION) ? again() : undefined)),
    vscode.workspace.onDidGrantWorkspaceTrust(again),
    vscode.window.onDidChangeActiveTextEditor(() => show(item)),
  );
  await again();
}

export async function deactivate(): Promise<void> {
  turn = turn.then(() => stop());
  await turn;
}

async function start(context: vscode.ExtensionContext, output: vscode.LogOutputChannel, item: vscode.LanguageStatusItem): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    return; // VS Code doesn't even activate this extension there
  }
  const settings = vscode.workspace.getConfiguration(SECTION);
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === 'file');
  const programs = findPrograms({
    setting: settings.get<string>('path', '').trim(),
    folders: folders.map((folder) => folder.uri.fsPath),
    extension: context.extensionPath,
    path: process.env.PATH ?? '',
    windows: process.platform === 'win32',
  });
  const cwd = folders[0]?.uri.fsPath;
  const reasons = [];
  for (const program of programs) {
    const words = [...program.arguments, 'lsp', '--stdio', ...settings.get<string[]>('arguments', [])];
    const reason = await findReason(program.command, words, cwd);
    if (reason === undefined) {
      output.info(`starting ${[program.command, ...words].join(' ')} (from ${program.from})`);
      await run({ command: program.command, args: words, options: { cwd } }, settings.get<string>('diagnostics.schema', 'on'), output, item);
      return;
    }
    output.warn(`passed over ${program.command} (from ${program.from}): ${reason}`);
    reasons.push(`${program.command} (from ${program.from}) did not start: ${reason}`);
  }
  fail(item, reasons.join('\n') || `Install Python 3.11 or newer, or run pip install '.[lsp]' in a checkout of ${NAME}, or set ${SECTION}.path`);
}

async function run(executable: Executable, schema: string, output: vscode.LogOutputChannel, item: vscode.LanguageStatusItem): Promise<void> {
  client = new LanguageClient(
    NAME,
    'Dynamo',
    executable,
    {
      documentSelector: SELECTOR,
      initializationOptions: { diagnostics: { schema } },
      outputChannel: output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
    },
  );
  client.onDidChangeState(({ newState }) => (newState === State.Running ? show(item) : undefined));
  try {
    await client.start();
  } catch (error) {
    output.error(String(error));
    fail(item, `${executable.command} did not start: ${error}`);
  }
}

async function stop(): Promise<void> {
  const old = client;
  client = undefined;
  await old?.dispose().catch(() => undefined); // it has ended already, or never began
}

function fail(item: vscode.LanguageStatusItem, text: string): void {
  item.text = 'Dynamo: off';
  item.detail = text;
  item.severity = vscode.LanguageStatusSeverity.Error;
  item.command = { title: 'Show output', command: `${SECTION}.showOutput` };
}

async function show(item: vscode.LanguageStatusItem): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (client?.state !== State.Running || document?.languageId !== 'yaml') {
    return;
  }
  const status = await client.sendRequest<Status>(`${NAME}/status`, { uri: document.uri.toString() }).catch(() => undefined);
  if (status) {
    item.text = `Dynamo ${status.line}`;
    item.detail = status.facts.length ? `facts: ${status.facts.join(', ')}` : 'no facts: some rules wait for them';
    item.severity = vscode.LanguageStatusSeverity.Information;
    item.command = { title: 'Restart', command: `${SECTION}.restart` };
  }
}
