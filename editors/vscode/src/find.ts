// Finds the programs that may be started, in order: that of a setting alone, else those of the workspace's virtual environments, of the PATH, and
// the bundled one.

import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import * as path from 'node:path';

export interface Program {
  command: string;
  arguments: string[];
  from: string;
}

export interface Around {
  setting: string;
  folders: string[]; // of the workspace
  extension: string; // folder of this extension
  path: string; // the variable PATH
  windows: boolean;
}

const ENVIRONMENTS = ['.venv', 'venv'];

const PATIENCE = 60_000; // milliseconds, for a server that has nothing to do

export function findPrograms(around: Around): Program[] {
  if (around.setting) {
    return [{ command: around.setting, arguments: [], from: 'the setting dynamoWebhooks.path' }];
  }
  const inside = (name: string) => (around.windows ? ['Scripts', `${name}.exe`] : ['bin', name]);
  const found = around.folders
    .flatMap((folder) => ENVIRONMENTS.map((name) => ({ command: path.join(folder, name, ...inside('dynamo-webhooks')), from: `${name} of the workspace` })))
    .filter(({ command }) => isProgram(command));
  const command = onPath('dynamo-webhooks', around);
  const programs = (command ? [...found, { command, from: 'the PATH' }] : found).map((one) => ({ ...one, arguments: [] as string[] }));
  const bundled = path.join(around.extension, 'dynamo-webhooks.pyz');
  const python = ['python3', 'python'].map((name) => onPath(name, around)).find(Boolean);
  return python && isFile(bundled) ? [...programs, { command: python, arguments: [bundled], from: 'this extension' }] : programs;
}

// Why a server doesn't start, in its own words; a server whose input ends at once ends, too.
export function findReason(command: string, words: string[], cwd: string | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = execFile(command, words, { cwd, timeout: PATIENCE }, (error, _, told) =>
      resolve(error ? told.trim().split('\n').at(-1) || error.message : undefined),
    );
    server.stdin?.on('error', () => undefined).end();
  });
}

// The PATH's absolute folders alone: a relative one would be inside of whatever folder the editor runs in.
function onPath(name: string, around: Around): string | undefined {
  const folders = around.path.split(around.windows ? ';' : ':').filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, around.windows ? `${name}.exe` : name)).find(isProgram);
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return isFile(file);
  } catch {
    return false;
  }
}
