import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { suiteFolder } from '../support/suite-world.ts';
import { temporaryFolder } from '../support/support.ts';
import { verdictsOf } from './folders.ts';

const FILES = {
  'scripts/clean/journal.ndjson': '{"is":"laid"} code\n',
  'scripts/clean/1.0.0/files/evidence/seal.json': '{"not":"a seal"}',
  'tokens.json': 'secret',
};

/** Writes files as the server keeps them below a folder. */
function serverIn(folder: string): void {
  for (const [name, text] of Object.entries(FILES)) {
    const file = path.join(folder, '.proctor', 'server', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

describe('the files of the server in .proctor', () => {
  test('are not evidence, whether the home or the project around it is verified', async () => {
    const project = temporaryFolder();
    await suiteFolder(path.join(project, '.proctor', 'runs'), { cases: [{ id: 'one' }] });
    serverIn(project);
    symlinkSync('/etc/passwd', path.join(project, '.proctor', 'server', 'link'));
    for (const [input, at] of [
      [path.join(project, '.proctor'), 'server'],
      [project, '.proctor/server'],
    ] as const) {
      const verdicts = await verdictsOf(input);
      expect(verdicts.filter(({ outcome }) => outcome !== 'valid')).toEqual([]);
      const notChecked = verdicts.at(-1)?.not_checked ?? [];
      expect(notChecked).toContain(`the files of the server in ${at}, which are not evidence`);
      expect(notChecked.join(' ')).not.toMatch(/clean|tokens/);
    }
  });

  test('count below a sealed run, which they break', async () => {
    const run = await suiteFolder(temporaryFolder(), { cases: [{ id: 'one' }] });
    expect((await verdictsOf(run)).at(-1)?.outcome).toBe('valid');
    serverIn(run);
    expect((await verdictsOf(run)).at(-1)?.outcome).toBe('invalid');
  });
});
