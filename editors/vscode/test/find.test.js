// Which program is started, in the order of the settings page; nothing is run.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { buildSync } = require('esbuild');

const built = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'find-')), 'find.js');
buildSync({ entryPoints: [path.join(__dirname, '..', 'src', 'find.ts')], outfile: built, format: 'cjs', platform: 'node' });
const { findPrograms } = require(built);
const findProgram = (around) => findPrograms(around)[0];

function program(...parts) {
  const file = path.join(...parts);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '#!/bin/sh\n', { mode: 0o755 });
  return file;
}

function around(more) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'find-'));
  const extension = path.join(folder, 'extension');
  return { setting: '', folders: [path.join(folder, 'work')], extension, path: path.join(folder, 'bin'), windows: false, ...more };
}

test('the setting wins over the environment, this over the PATH, and this over the bundled program', () => {
  const here = around();
  assert.equal(findProgram(here), undefined);
  const python = program(here.path, 'python3');
  assert.equal(findProgram(here), undefined); // nothing is bundled
  const bundled = program(here.extension, 'dynamo-webhooks.pyz');
  assert.deepEqual(findProgram(here), { command: python, arguments: [bundled], from: 'this extension' });
  const onPath = program(here.path, 'dynamo-webhooks');
  assert.deepEqual(findProgram(here), { command: onPath, arguments: [], from: 'the PATH' });
  const own = program(here.folders[0], 'venv', 'bin', 'dynamo-webhooks');
  assert.equal(findProgram(here).command, own);
  const hidden = program(here.folders[0], '.venv', 'bin', 'dynamo-webhooks');
  assert.deepEqual(findProgram(here), { command: hidden, arguments: [], from: '.venv of the workspace' });
  assert.deepEqual(findPrograms(here).map((one) => one.command), [hidden, own, onPath, python]);
  assert.deepEqual(findProgram({ ...here, setting: '/x' }), { command: '/x', arguments: [], from: 'the setting dynamoWebhooks.path' });
});

test('relative folders of the PATH, and files that can not be run, are passed over', () => {
  const here = around();
  const file = program(here.path, 'dynamo-webhooks');
  const relative = path.relative(process.cwd(), here.path);
  assert.equal(findProgram({ ...here, path: `${relative}::.` }), undefined);
  fs.chmodSync(file, 0o644);
  assert.equal(findProgram(here), undefined);
});
