import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { useStateFolder } from '../../src/base/state-folder.ts';
import { makeStateKey, readStateKey } from '../../src/base/state-key.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

const run = promisify(execFile);

afterEach(() => useStateFolder(path.join(String(process.env['XDG_STATE_HOME']), 'proctor')));

test('reading creates no key; the first run creates one that only the owner can read', () => {
  const state = path.join(temporaryFolder(), 'a', 'proctor');
  useStateFolder(state);
  expect(readStateKey()).toBeUndefined();
  expect(statSync(path.dirname(state), { throwIfNoEntry: false })).toBeUndefined();
  const { bytes, trouble } = makeStateKey();
  expect(trouble).toBeUndefined();
  expect(readStateKey()?.bytes).toEqual(bytes);
  expect(statSync(state).mode & 0o777).toBe(0o700);
  expect(statSync(path.join(state, 'journal.key')).mode & 0o777).toBe(0o600);
});

test('processes that create the first key at once all use the same one', async () => {
  const folder = temporaryFolder();
  const program = path.join(folder, 'key.mjs');
  const contents = `import { useStateFolder } from './src/base/state-folder.ts';
import { makeStateKey } from './src/base/state-key.ts';
useStateFolder(process.argv[2]);
const { bytes, trouble } = makeStateKey();
console.log(trouble ?? bytes.toString('hex'));`;
  const stdin = { contents, resolveDir: ROOT, loader: 'ts' } as const;
  await build({ stdin, bundle: true, platform: 'node', format: 'esm', outfile: program });
  const state = path.join(folder, 'state');
  const said = await Promise.all(Array.from({ length: 8 }, () => run(process.execPath, [program, state])));
  expect(new Set(said.map(({ stdout }) => stdout)).size).toBe(1);
  expect(said[0]?.stdout).toMatch(/^[0-9a-f]{64}\n$/);
  expect(readdirSync(state)).toEqual(['journal.key']);
});
