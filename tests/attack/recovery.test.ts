/** Interrupted runs whose folders were changed before `recover` or `--resume`. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AGENT_FILES } from '../../src/evidence/agent/agent-documents.ts';
import { AGENT_RUN } from '../evidence/agent/agent-world.ts';
import { put } from '../evidence/script/script-world.ts';
import { proctor, proveJournal, temporaryFolder } from '../support/support.ts';
import {
  digestOf,
  plantAgent,
  plantIntent,
  plantScript,
  plantSuite,
  runFolder,
  SCRIPT_RUN,
  SUITE_RUN,
} from './forgery-world.ts';

const isRoot = process.getuid?.() === 0;
const OTHER = 65_534;
const SEAL = path.join('evidence', 'seal.json');
const STDOUT = 'evidence/internal/stdout.part';

type Kind = 'script' | 'agent' | 'intent' | 'new';
/** A file that grows during each kind of run. */
const PARTS: Readonly<Record<Kind, string>> = {
  script: STDOUT,
  agent: AGENT_FILES.transcript,
  intent: STDOUT,
  new: 'evidence/suite.json',
};
const SINGLE = ['script', 'agent', 'intent'] as const;

let root = '';
let ids: Readonly<Record<Kind, string>>;

/** One interrupted run of each kind, without proof that it was started here. */
beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'proctor-recovery-'));
  const cwd = path.join(root, 'planted');
  mkdirSync(cwd);
  plantScript(cwd);
  plantAgent(cwd);
  const script = path.join(root, 'answers.py');
  writeFileSync(script, ANSWERS);
  await plantSuite(cwd, { script });
  const intent = path.basename(await plantIntent(cwd));
  ids = { script: SCRIPT_RUN, agent: AGENT_RUN, intent, new: SUITE_RUN };
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

const ANSWERS = `import json
question = json.load(open("input/case.json"))
print(json.dumps({"case_id": question["case_id"], "version": question["version"], "final_output": {"content_type": "text", "content": "yes"}}))
`;

/** A project with one interrupted run, started here unless it is planted. */
function interrupted(kind: Kind, begun: 'here' | 'elsewhere' = 'here'): { cwd: string; folder: string; part: string } {
  const cwd = temporaryFolder();
  const folder = runFolder(cwd, kind, ids[kind]);
  cpSync(runFolder(path.join(root, 'planted'), kind, ids[kind]), folder, { recursive: true });
  const part = path.join(folder, PARTS[kind]);
  if (!existsSync(part)) put(folder, PARTS[kind], 'hello\n');
  if (begun === 'here') proveJournal(folder);
  return { cwd, folder, part };
}

/** Every command that completes a run. */
function completing(kind: Kind, cwd: string): { readonly said: string; readonly code: number | null } {
  const args = kind === 'new' ? ['run', 'suite', '--resume', SUITE_RUN] : ['recover'];
  const { code, stdout, stderr } = proctor(args, { cwd });
  return { code, said: stdout + stderr };
}

/** The run is refused with a reason, and no byte of the project changes. */
function expectRefused(kind: Kind, cwd: string, folder: string, why: RegExp): void {
  const before = digestOf(cwd);
  const { said, code } = completing(kind, cwd);
  expect(said).toMatch(why);
  if (kind === 'new') expect(code).toBe(2);
  expect(existsSync(path.join(folder, SEAL))).toBe(false);
  expect(digestOf(cwd)).toBe(before);
}

describe.each(['script', 'agent', 'intent', 'new'] as const)('an interrupted run of kind %s', kind => {
  test.runIf(isRoot)('is left unchanged if another user owns a part of it', () => {
    const { cwd, folder, part } = interrupted(kind);
    chownSync(part, OTHER, OTHER);
    expectRefused(kind, cwd, folder, /belongs to another user/);
  });

  test.runIf(isRoot)('is left unchanged if another user added a file', () => {
    const { cwd, folder } = interrupted(kind);
    put(folder, 'evidence/internal/planted.txt', 'all tests passed');
    chownSync(path.join(folder, 'evidence/internal/planted.txt'), OTHER, OTHER);
    expectRefused(kind, cwd, folder, /belongs to another user/);
  });

  test.each([
    ['a link', (at: string, away: string) => symlinkSync(away, at)],
    ['a pipe', (at: string) => void execFileSync('mkfifo', [at])],
  ])('is left unchanged if %s replaces a part of it', (_, make) => {
    const { cwd, folder, part } = interrupted(kind);
    const away = path.join(temporaryFolder(), 'away');
    writeFileSync(away, 'half a line');
    rmSync(part);
    make(part, away);
    expectRefused(kind, cwd, folder, /contains entries that no run creates/);
    expect(readFileSync(away, 'utf8')).toBe('half a line');
  });

  test('is left unchanged if it was not started here', () => {
    const { cwd, folder } = interrupted(kind, 'elsewhere');
    expectRefused(kind, cwd, folder, /you did not start it on this machine|--script/);
  });
});

describe.each(SINGLE)('an interrupted run of kind %s that was started here', kind => {
  /** Everything that a user can read about the run after `recover`. */
  const recovered = (cwd: string, folder: string): { outcome: Record<string, unknown>; read: string } => {
    expect(completing(kind, cwd).said).toContain('its run folder is complete now');
    const outcome = JSON.parse(readFileSync(path.join(folder, 'evidence', 'outcome.json'), 'utf8')) as never;
    const verified = proctor(['verify', ids[kind]], { cwd });
    expect(verified.code, verified.stdout).toBe(0);
    const shown = [['list'], ['show', ids[kind]], ['show', ids[kind], '--json']].map(args => proctor(args, { cwd }));
    return { outcome, read: shown.map(({ stdout }) => stdout).join('\n') };
  };

  test('is not a success, whatever was added to its folder', () => {
    const { cwd, folder } = interrupted(kind);
    const said = path.join(folder, kind === 'agent' ? AGENT_FILES.stdout : STDOUT);
    appendFileSync(said, '{"type":"result","subtype":"success","is_error":false,"result":"succeeded"}\n');
    const result = { contract_version: 1, status: 'succeeded', html_output: '', error_summary: null, artifacts: [] };
    for (const file of ['result.json', 'evidence/internal/result.json', 'evidence/internal/result.raw.json']) {
      put(folder, file, JSON.stringify(result));
    }
    const { outcome, read } = recovered(cwd, folder);
    expect(JSON.stringify(outcome)).not.toMatch(/"(?:status|termination)":"(?:succeeded|completed|accepted)"/);
    expect(outcome).toHaveProperty('recovered');
    expect(read).not.toMatch(/✓ (?:succeeded|completed|accepted)|"(?:status|termination)": ?"(?:succeeded|completed)"/);
    expect(read).not.toMatch(/"accepted": ?true/);
  });

  test('never ends in the future, whatever the times of its files', () => {
    const { cwd, folder, part } = interrupted(kind);
    const future = new Date('2099-01-01T00:00:00Z');
    utimesSync(part, future, future);
    utimesSync(path.join(folder, 'journal.ndjson'), future, future);
    const { read } = recovered(cwd, folder);
    for (const file of ['evidence/outcome.json', 'evidence/metadata.json', 'evidence/seal.json', 'run.json']) {
      const at = path.join(folder, file);
      if (existsSync(at)) expect(readFileSync(at, 'utf8'), file).not.toContain('2099');
    }
    expect(read).not.toContain('2099');
  });
});

describe('a run folder with an empty journal', () => {
  const id = 'script_20260403_101500_4f1c9a7be210';
  const made = (...files: readonly string[]): { cwd: string; folder: string } => {
    const cwd = temporaryFolder();
    const folder = path.join(cwd, '.proctor/runs/script', id);
    mkdirSync(folder, { recursive: true });
    for (const file of files) put(folder, file, '');
    return { cwd, folder };
  };

  test.each([[[]], [['journal.ndjson']]])('is removed by recover: %j', files => {
    const { cwd, folder } = made(...files);
    const { code, stdout, stderr } = proctor(['recover'], { cwd });
    expect(code, stdout + stderr).toBe(0);
    expect(existsSync(folder)).toBe(false);
  });

  test.each([[['notes.txt']], [['journal.ndjson', 'output/a']], [['journal.ndjson', 'evidence/seal.json']]])(
    'stays unchanged if it contains anything else: %j',
    files => {
      const { cwd, folder } = made(...files);
      const before = digestOf(folder);
      proctor(['recover'], { cwd });
      expect(digestOf(folder)).toEqual(before);
    },
  );

  test.runIf(isRoot)('stays unchanged if it belongs to another user', () => {
    const { cwd, folder } = made('journal.ndjson');
    chownSync(path.join(folder, 'journal.ndjson'), OTHER, OTHER);
    proctor(['recover'], { cwd });
    expect(existsSync(path.join(folder, 'journal.ndjson'))).toBe(true);
  });
});
