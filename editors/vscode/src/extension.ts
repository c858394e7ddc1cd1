// Starts the language server in trusted workspaces, shows what it judges by, and restarts it on demand or when a setting changes.

import * as vscode from 'vscode';
import { LanguageClient, RevealOutputChannelOn, State } from 'vscode-languageclient/node';
import { findProgram } from './find';

const NAME = 'dynamo-webhooks';
const SECTION = 'dynamoWebhooks';
const SELECTOR = [{ scheme: 'file', language: 'yaml' }];

interface Status {
  version: string;
  line: string;
  cluster: string;
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
  const program = findProgram({
    setting: settings.get<string>('path', '').trim(),
    folders: folders.map((folder) => folder.uri.fsPath),
    extension: context.extensionPath,
    path: process.env.PATH ?? '',
    windows: process.platform === 'win32',
  });
  if (!program) {
    fail(item, `Install Python 3.11 or newer, or dynamo-webhooks[lsp], or set ${SECTION}.path`);
    return;
  }
  const words = [...program.arguments, 'lsp', '--stdio', ...settings.get<string[]>('arguments', [])];
  output.info(`starting ${[program.command, ...words].join(' ')} (from ${program.from})`);
  client = new LanguageClient(
    NAME,
    'Dynamo',
    { command: program.command, args: words, options: { cwd: folders[0]?.uri.fsPath } },
    {
      documentSelector: SELECTOR,
      initializationOptions: { diagnostics: { schema: settings.get<string>('diagnostics.schema', 'on') } },
      outputChannel: output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
    },
  );
  client.onDidChangeState(({ newState }) => (newState === State.Running ? show(item) : undefined));
  try {
    await client.start();
  } catch (error) {
    output.error(String(error));
    fail(item, `The language server did not start: ${program.command} (from ${program.from})`);
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
    item.text = `Dynamo ${status.line}${status.cluster && `, ${status.cluster}`}`;
    item.detail = status.facts.length ? `facts: ${status.facts.join(', ')}` : 'no facts: some rules wait for them';
    item.severity = vscode.LanguageStatusSeverity.Information;
    item.command = { title: 'Restart', command: `${SECTION}.restart` };
  }
}
