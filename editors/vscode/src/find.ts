// Finds the program to start: that of a setting, of the workspace's virtual environment, of the PATH, or the bundled one. Starts nothing.

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

export function findProgram(around: Around): Program | undefined {
  const { windows } = around;
  if (around.setting) {
    return { command: around.setting, arguments: [], from: 'the setting dynamoWebhooks.path' };
  }
  const inside = (name: string) => (windows ? ['Scripts', `${name}.exe`] : ['bin', name]);
  for (const folder of around.folders) {
    for (const environment of ENVIRONMENTS) {
      const command = path.join(folder, environment, ...inside('dynamo-webhooks'));
      if (isProgram(command)) {
        return { command, arguments: [], from: `${environment} of the workspace` };
      }
    }
  }
  const command = onPath('dynamo-webhooks', around);
  if (command) {
    return { command, arguments: [], from: 'the PATH' };
  }
  const bundled = path.join(around.extension, 'dynamo-webhooks.pyz');
  const python = ['python3', 'python'].map((name) => onPath(name, around)).find(Boolean);
  return python && isFile(bundled) ? { command: python, arguments: [bundled], from: 'this extension' } : undefined;
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
