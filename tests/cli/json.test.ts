import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { contractNames, loadContracts } from '../../src/contracts/catalogue.ts';
import { runner } from '../../src/contracts/runner/index.ts';
import { example } from '../../src/verbs/schema.ts';
import { judgedText, proctor, temporaryFolder } from '../support/support.ts';

const DESK = 'case,pass\na,1\nb,1\n';
const RUNNER = canonicalize(runner.example);

/** Command lines that answer in an empty folder, and their exit codes. Other commands fail there, and report that. */
const ANSWERS: readonly (readonly [command: string, code: number])[] = [
  ['list', 0],
  ['recover', 0],
  ['prune --older-than 1d', 0],
  ['keys show', 0],
  ['keys new', 0],
  ['gate before.csv after.csv', 0],
  ['verify before.csv', 2],
  ['verify runner.json', 0],
  ['runner-verify runner.json', 0],
  ['runner-verify runner.json runner.json missing.json', 1],
  ['explain', 0],
  ['explain RN7 runner', 0],
  ['schema', 0],
  ['schema runner', 0],
  ['example', 0],
  ['example runner', 0],
  ['completion bash', 0],
  ['run intent missing.json', 2],
  ['run script missing.py', 2],
  ['run suite missing.yaml --base-url http://127.0.0.1:1 --as new', 2],
  ['run agent --agent unknown --task x', 2],
  ['test', 2],
  ['config', 2],
  ['view --no-open', 2],
  ['reproduce', 2],
  ['compare', 2],
  ['report', 2],
  ['baseline accept', 2],
  ['resend latest a', 2],
  ['try missing.yaml hello', 2],
  ['show', 2],
  ['pack', 2],
  ['unpack missing.tar', 2],
  ['apply', 2],
  ['explain NOTHING', 2],
  ['schema nothing', 2],
  ['completion tcsh', 2],
  ['nothing', 2],
];

function world(): string {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'before.csv'), DESK);
  writeFileSync(path.join(cwd, 'after.csv'), DESK);
  writeFileSync(path.join(cwd, 'runner.json'), RUNNER);
  return cwd;
}

describe('--json prints exactly one JSON document to standard output', () => {
  test.each(ANSWERS)('%s', (command, expected) => {
    const { code, stdout, stderr } = proctor([...command.split(' '), '--json'], { cwd: world() });
    expect(code, stderr).toBe(expected);
    const document: unknown = JSON.parse(stdout);
    expect(document).toBeTypeOf('object');
    expect(document).not.toBeNull();
    // `run intent` has the error document of its specification.
    if (code === 2 && !/^(?:verify|run intent)/.test(command))
      expect(document).toMatchObject({ ok: false, error: { code: expect.any(String), message: expect.any(String) } });
  });

  test('and is a flag of every command without subcommands', () => {
    // The completion script lists all commands with their flags.
    const script = proctor(['completion', 'bash']).stdout;
    const [, table = ''] = /^_proctor_flags\(\) \{\n([^]*?)^\}$/m.exec(script) ?? [];
    const groups = new Set(['', 'run', 'baseline', 'keys', 'token', 'queue']);
    const flags = [...table.matchAll(/^ {4}'([a-z -]*)'\) found=\((.*)\) ;;$/gm)].filter(
      ([, name = '']) => !groups.has(name),
    );
    expect(flags.length).toBeGreaterThan(20);
    expect(flags.filter(([, , found]) => !found?.includes("'--json:")).map(([, name]) => name)).toEqual([]);
  });

  test('with every rule and format, for explain', () => {
    const { formats, rules } = JSON.parse(proctor(['explain', '--json']).stdout) as {
      formats: { name: string; rules: string[] }[];
      rules: { id: string; scope: string; format: string | null; asks: string[] }[];
    };
    expect(formats.map(({ name }) => name)).toEqual([...contractNames]);
    for (const { name, rules: ids } of formats)
      expect(rules.filter(rule => rule.format === name).map(({ id }) => id)).toEqual(ids);
    expect(new Set(rules.map(({ scope }) => scope))).toEqual(new Set(['format', 'folder', 'pack']));
  });
});

test('example prints documents that pass verify --strict', async () => {
  for (const contract of await loadContracts()) {
    const { text = '' } = (await example(contract.name)) ?? {};
    expect(await judgedText(contract, `${text}\n`, { strict: true }), contract.name).toMatchObject({
      outcome: 'valid',
    });
  }
});

test.each([
  ['run suite missing.yaml --base-url http://127.0.0.1:1 --as new', 'The case file missing.yaml does not exist.'],
  ['run script missing.py', 'The script missing.py does not exist.'],
  ['run intent missing.json', 'The intent does not exist.'],
  ['compare', 'There is no candidate run.'],
  ['report', 'No suite has been run yet.'],
  ['show', 'There are no runs yet.'],
])('a command whose file or run is missing creates no .proctor: %s', (command, told) => {
  const cwd = temporaryFolder();
  const { code, stderr } = proctor(command.split(' '), { cwd });
  expect([code, stderr.includes(told), existsSync(path.join(cwd, '.proctor'))]).toEqual([2, true, false]);
});
