/** Forged and altered runs: nothing makes Proctor seal, sign or register them. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JOURNAL } from '../../src/evidence/run-folder/journal.ts';
import { AGENT_RUN } from '../evidence/agent/agent-world.ts';
import { put } from '../evidence/script/script-world.ts';
import { proctor, proveJournal, type Ran, temporaryFolder } from '../support/support.ts';
import {
  cloned,
  digestOf,
  elsewhere,
  journalOf,
  plantAgent,
  plantIntent,
  plantScript,
  plantSuite,
  runFolder,
  SCRIPT_LINES,
  SCRIPT_RUN,
  SUITE_RUN,
} from './forgery-world.ts';

const SECRET = 'victims-token-2f81c7';
let root = '';
let here = '';
let intent = '';

/** The victim has a key and a clone with journals of every kind. The attacker listens at the address in one of them. */
beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'proctor-forgery-'));
  const from = path.join(root, 'theirs');
  mkdirSync(from);
  plantScript(from);
  plantScript(from, 'script_20990101_000000_aaaaaaaaaaaa');
  plantAgent(from);
  intent = await elsewhere(root, async () => {
    await plantSuite(from, { script: answering(root) });
    return path.basename(await plantIntent(from));
  });
  here = cloned(from, path.join(root, 'mine'));
  expect(proctor(['keys', 'new', '--out', 'ci.key'], { cwd: root }).code).toBe(0);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

const asVictim = (args: readonly string[], cwd = here, env: NodeJS.ProcessEnv = {}): Ran =>
  proctor(args, { cwd, env: { PROCTOR_KEY: path.join(root, 'ci.key'), TOKEN: SECRET, ...env } });

/** A script that answers every case, and leaves a mark next to itself if it is not sandboxed. */
function answering(folder: string): string {
  const script = path.join(folder, 'answers.py');
  writeFileSync(
    script,
    `import json
question = json.load(open("input/case.json"))
print(json.dumps({"case_id": question["case_id"], "version": question["version"], "final_output": {"content_type": "text", "content": "yes"}}))
`,
  );
  return script;
}

describe('journals that came with a clone', () => {
  const verify = ['verify', '--key', '../ci.pub', '--require-signature'];
  const attempts: readonly (readonly string[])[] = [
    [...verify, 'latest'],
    [...verify, SCRIPT_RUN],
    [...verify, '.proctor'],
    ['list'],
    ['list', '--json'],
    ['show', 'latest'],
    ['show', SCRIPT_RUN],
    ['show', AGENT_RUN],
    ['show', SUITE_RUN],
    ['recover'],
    ['reproduce', 'INTENT'],
    ['pack', SCRIPT_RUN],
    ['apply', AGENT_RUN],
    ['compare', SUITE_RUN, SUITE_RUN],
    ['report', SUITE_RUN],
    ['baseline', 'accept', SUITE_RUN],
    ['resend', SUITE_RUN, 'one'],
    ['run', 'suite', '--resume', SUITE_RUN],
  ];

  test.each(attempts.map(args => [args.join(' '), args] as const))('are left unchanged by %s', (_, args) => {
    const before = digestOf(here);
    const { code, stdout } = asVictim(args.map(word => (word === 'INTENT' ? intent : word)));
    expect(digestOf(here)).toBe(before);
    if (!['list', 'show', 'recover'].includes(args[0] as string)) expect(code).not.toBe(0);
    expect(stdout).not.toMatch(/matches its seal|succeeded/);
  });

  test('are listed, shown and verified as interrupted and not started here', () => {
    const { stdout } = asVictim(['list']);
    expect(stdout.match(/interrupted; you did not start it on this machine/g)).toHaveLength(5);
    for (const id of [SCRIPT_RUN, AGENT_RUN, intent, SUITE_RUN]) {
      expect(asVictim(['show', id]).stdout).toContain('interrupted; you did not start it on this machine');
    }
    expect(asVictim(['verify', SCRIPT_RUN]).stdout).toMatch(
      /SL7 .*interrupted run that you did not start on this machine/,
    );
  });

  test('are refused by recover, which names them and continues with a run that was started here', () => {
    const cwd = path.join(temporaryFolder(), 'mine');
    cpSync(here, cwd, { recursive: true });
    const own = plantScript(cwd, 'script_20260404_000000_bbbbbbbbbbbb');
    proveJournal(own);
    const { code, stdout } = asVictim(['recover'], cwd);
    expect(code).toBe(0);
    for (const id of [SCRIPT_RUN, AGENT_RUN, intent, SUITE_RUN]) {
      expect(stdout).toContain(`${id}  was interrupted; you did not start it on this machine: `);
    }
    expect(stdout).toContain('script_20260404_000000_bbbbbbbbbbbb  was interrupted; its run folder is complete now');
    expect(existsSync(path.join(own, 'evidence', 'seal.json'))).toBe(true);
    expect(existsSync(path.join(runFolder(cwd, 'script', SCRIPT_RUN), 'evidence', 'seal.json'))).toBe(false);
  });

  test('are removed by prune when they are old', () => {
    const cwd = path.join(temporaryFolder(), 'mine');
    cpSync(here, cwd, { recursive: true });
    expect(asVictim(['prune', '--older-than', '1d'], cwd).stdout).toContain(`removed  ${SCRIPT_RUN}\n`);
    expect(existsSync(path.join(cwd, '.proctor', 'ledger.ndjson'))).toBe(false);
  });
});

test('a sealed folder that came with a clone gets no line in the ledger', () => {
  const cwd = temporaryFolder();
  const own = plantScript(cwd);
  proveJournal(own);
  expect(asVictim(['recover'], cwd).code).toBe(0);
  const there = temporaryFolder();
  cpSync(path.join(cwd, '.proctor', 'runs'), path.join(there, '.proctor', 'runs'), { recursive: true });
  const before = digestOf(there);
  expect(asVictim(['recover'], there).stdout).toBe('All runs are finished.\n');
  expect(digestOf(there)).toBe(before);
});

describe("the journal of this user's interrupted run", () => {
  const interrupted = (lines: readonly object[]): { cwd: string; folder: string; journal: string } => {
    const cwd = temporaryFolder();
    const folder = plantScript(cwd);
    put(folder, JOURNAL, journalOf(lines));
    proveJournal(folder);
    return { cwd, folder, journal: path.join(folder, JOURNAL) };
  };

  /** The outcome of the run, if recovery completed it. */
  const recovered = (cwd: string, folder: string): { readonly said: string; readonly reason: unknown } => {
    const said = asVictim(['recover'], cwd).stdout;
    const file = path.join(folder, 'evidence', 'outcome.json');
    const { reason } = (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}) as { reason?: unknown };
    return { said, reason };
  };

  test('proves nothing in a copy of its folder', () => {
    const { cwd, folder } = interrupted(SCRIPT_LINES);
    const there = temporaryFolder();
    const copy = runFolder(there, 'script', SCRIPT_RUN);
    cpSync(folder, copy, { recursive: true });
    expect(recovered(there, copy).said).toContain('you did not start it on this machine');
    expect(existsSync(path.join(copy, 'evidence', 'seal.json'))).toBe(false);
    // A renamed project keeps its runs.
    const { said } = recovered(cwd, folder);
    expect(said).toContain('its run folder is complete now');
  });

  test('proves nothing in the folder of another run', () => {
    const { cwd, folder } = interrupted(SCRIPT_LINES);
    const other = plantScript(cwd, 'script_20260404_000000_bbbbbbbbbbbb');
    cpSync(path.join(folder, JOURNAL), path.join(other, JOURNAL));
    expect(recovered(cwd, other).said).toContain(
      'script_20260404_000000_bbbbbbbbbbbb  was interrupted; you did not start it',
    );
    expect(existsSync(path.join(other, 'evidence', 'seal.json'))).toBe(false);
  });

  const started = SCRIPT_LINES.slice(0, 2);
  const lines = (text: string): string[] => text.split('\n').slice(0, -1);
  const tampered: readonly (readonly [string, (text: string, full: string) => string])[] = [
    ['appended without a code', text => text + journalOf(SCRIPT_LINES.slice(2))],
    [
      'appended with the code of another line',
      text => {
        const [, code = ''] = lines(text)[1]?.split('\t') ?? [];
        return (
          text +
          SCRIPT_LINES.slice(2)
            .map(line => `${JSON.stringify(line)}\t${code}\n`)
            .join('')
        );
      },
    ],
    [
      'left without the line before it',
      (_, full) =>
        lines(full)
          .toSpliced(2, 1)
          .map(line => `${line}\n`)
          .join(''),
    ],
    [
      'swapped with another',
      (_, full) => {
        const [planned, begun, captured, read] = lines(full);
        return [planned, begun, read, captured].map(line => `${line}\n`).join('');
      },
    ],
    ['edited', (_, full) => full.replace('"is":"captured"', '"is": "captured"')],
  ];

  test.each(tampered)('is trusted only up to a line that was %s', (_, tamper) => {
    const { cwd, folder, journal } = interrupted(SCRIPT_LINES);
    const full = readFileSync(journal, 'utf8');
    const text = `${lines(full).slice(0, started.length).join('\n')}\n`;
    writeFileSync(journal, tamper(text, full));
    const { said, reason } = recovered(cwd, folder);
    expect(said).toContain('its run folder is complete now');
    expect(reason).toBe('interrupted');
  });

  test('proves nothing if its first line was edited', () => {
    const { cwd, folder, journal } = interrupted(SCRIPT_LINES);
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('"boot"', '"root"'));
    const { said, reason } = recovered(cwd, folder);
    expect(said).toContain('you did not start it on this machine');
    expect(reason).toBeUndefined();
  });

  test('does not make pack or apply complete the run', () => {
    const { cwd } = interrupted(SCRIPT_LINES);
    proveJournal(plantAgent(cwd));
    const before = digestOf(cwd);
    for (const args of [
      ['pack', SCRIPT_RUN],
      ['pack', AGENT_RUN],
      ['apply', AGENT_RUN],
      ['verify', SCRIPT_RUN],
      ['show', AGENT_RUN],
    ]) {
      asVictim(args, cwd);
      asVictim(args, cwd, { PROCTOR_KEY: undefined });
    }
    expect(digestOf(cwd)).toBe(before);
  });
});
