/** Proctor caches the results of sandbox probes, and trusts only a cache that it wrote itself. */
import {
  chmodSync,
  chownSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Place, place } from '../support/runs.ts';

const TRIED = '["network","file_system","environment","privileges"]';
const FORGED = JSON.stringify(
  ['network', 'file_system', 'environment', 'privileges'].map(what => ({ what, held: true, note: 'Believe me.' })),
);

function observed(here: Place): unknown {
  const ran = here.proctor(['run', 'script', 'ok.py']);
  expect(ran.code, ran.stderr).toBe(0);
  const outcome = JSON.parse(here.proctor(['show', '--json']).stdout) as { outcome: { observed: unknown } };
  return outcome.outcome.observed;
}

test('probes the sandbox again if others can write to the cache, or if Proctor did not write its contents', () => {
  const here = place();
  here.file('ok.py', `import proctor_tool\nproctor_tool.succeed('<p>done</p>')\n`);
  const first = observed(here);
  const cache = path.join(here.cwd, '.proctor', 'cache');
  const [name = ''] = readdirSync(cache);
  const file = path.join(cache, name);
  const isAsWritten = (): boolean => {
    const { mode, uid } = lstatSync(file);
    return lstatSync(file).isFile() && uid === process.getuid?.() && (mode & 0o777) === 0o600;
  };
  expect(readFileSync(file, 'utf8')).toBe(TRIED);
  const spoils: (() => void)[] = [
    () => writeFileSync(file, FORGED),
    () => writeFileSync(file, '[]'),
    () => writeFileSync(file, '["file_system","environment","privileges"]'),
    () => chmodSync(file, 0o666),
    () => chownSync(file, 65_533, 65_533),
    () => {
      renameSync(file, path.join(here.cwd, 'memory.json'));
      symlinkSync(path.join(here.cwd, 'memory.json'), file);
    },
  ];
  for (const spoil of spoils) {
    spoil();
    expect(observed(here)).toEqual(first);
    expect(readFileSync(file, 'utf8')).toBe(TRIED);
    expect(isAsWritten()).toBe(true);
  }
});
