import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bootId } from '../../src/execute/host/machine.ts';
import { startTicksOf } from '../../src/execute/host/processes.ts';
import { AGENT_FILES } from '../../src/evidence/agent/agent-documents.ts';
import { judgeAgentRun } from '../../src/judge/agent/judge-agent.ts';
import {
  AGENT_RUN,
  agentFiles,
  agentFolder,
  EVENTS,
  type Happening,
  planOf,
  text,
  type Told,
  transcriptOf,
} from '../evidence/agent/agent-world.ts';
import { sealedFolder } from '../evidence/pack/pack-world.ts';
import { expectValid } from '../evidence/script/script-world.ts';
import { proctor, proveJournal, temporaryFolder } from '../support/support.ts';

/** A project with one agent run. */
async function placeWith(told: Told = {}): Promise<{ readonly cwd: string; readonly folder: string }> {
  const cwd = temporaryFolder();
  mkdirSync(path.join(cwd, '.proctor'), { mode: 0o755 });
  return { cwd, folder: await agentFolder(path.join(cwd, '.proctor'), told) };
}

/** An unfinished run: its journal and its output so far. */
function openPlace(owner: { pid: number; startTicks: number; bootId: string }): { cwd: string; folder: string } {
  const cwd = temporaryFolder();
  const folder = path.join(cwd, '.proctor', 'runs', 'agent', AGENT_RUN);
  mkdirSync(path.join(folder, 'evidence/steps/agent'), { recursive: true });
  mkdirSync(path.join(folder, 'evidence/native'), { recursive: true });
  const plan = planOf({ plan: { owner } });
  const lines = [
    { is: 'planned', plan },
    { is: 'started', atMs: plan.startedAtMs + 100 },
  ];
  const journal = lines.map(line => `${JSON.stringify(line)}\n`).join('');
  writeFileSync(path.join(folder, 'journal.ndjson'), journal, { mode: 0o600 });
  proveJournal(folder);
  writeFileSync(path.join(folder, AGENT_FILES.transcript), `${transcriptOf(EVENTS.slice(0, 5))}{"schema`);
  writeFileSync(path.join(folder, AGENT_FILES.stdout), '{}\n'.repeat(6));
  return { cwd, folder };
}

const HERE = { pid: process.pid, startTicks: startTicksOf(process.pid) as number, bootId: bootId() };
const GONE = { pid: 1, startTicks: 1, bootId: 'boot' };

describe('proctor show', () => {
  test('lists changes that run automatically, even for runs that recorded no such list', async () => {
    const listed = [{ path: 'src/x', reason: 'git runs it as a hook' }];
    const { cwd } = await placeWith({ workspace: { needs_review: { total: 1, listed } } });
    expect(proctor(['show', 'latest'], { cwd }).stdout).toMatch(
      /needs review {2}1 file .*\n {4}src\/x: git runs it as a hook\n/,
    );
    expect(JSON.parse(proctor(['show', 'latest', '--json'], { cwd }).stdout)).toMatchObject({
      needs_review: { listed },
    });
    const changed = { total: 1, listed: [{ path: 'src/.envrc', change: 'add' as const, bytes: 1, mode: '100644' }] };
    const before = await placeWith({ workspace: { changed, needs_review: undefined } });
    expect(proctor(['show', 'latest'], { cwd: before.cwd }).stdout).toMatch(
      /needs review[^\n]*\n {4}src\/\.envrc: direnv/,
    );
  });

  test('shows the task, the actions, the changes and the limits of an agent', async () => {
    const { cwd } = await placeWith();
    const { code, stdout } = proctor(['show', 'latest'], { cwd });
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        '✓ completed  claude 2.1.325',
        '  task      Add a test for parse().  (1 more line)',
        '  when      2026-04-03T10:15:00.000Z, took 65 s',
        '  model     claude-sonnet-4-5, live: 4 requests',
        '  timeline  3 tool calls',
        '    0:12  ✓ Bash   npm test  49 s',
        '    I added a test for parse(), and all tests pass.',
        '  changes   2 files, +3 −1',
        '    +1     tests/parse.test.ts  new',
        '    enforced  workspace write; network deny; bounded auto approve; in src, tests; except src/generated; without push',
        '            matches its seal, not signed',
      ]),
    );
    expect(stdout).not.toMatch(/claims|denied/);
  });

  test('shows why a run was stopped, what was denied, and which claims do not match', async () => {
    const events: Happening[] = [
      { kind: 'tool_call', call: 'a', tool: 'Write', input: text('{}'), path: '/work/docs/x.md', atMs: 1_000 },
      { kind: 'denial', call: 'a', tool: 'Write', reason: 'Permission to use Write has been denied.', atMs: 1_001 },
      { kind: 'tool_result', call: 'a', ok: false, output: text(''), exit_code: null, atMs: 1_002 },
      { kind: 'tool_call', call: 'b', tool: 'Bash', input: text('{}'), command: text('make\nmake b'), atMs: 2_000 },
      { kind: 'tool_result', call: 'b', ok: false, output: text(''), exit_code: 2, atMs: 2_100 },
      { kind: 'final', ok: true, body: text('Done, all tests pass.'), atMs: 40_000 },
    ];
    const violation = { class: 'forbidden_path', message: 'A path was changed.', path: 'lib/x', hard: true } as const;
    const { cwd, folder } = await placeWith({
      events,
      policy: { violations: [violation] },
      judgement: { termination: 'killed_policy', reason: 'forbidden_path', detail: 'lib/x was changed.' },
      workspace: { commits: { total: 1, listed: [{ sha: 'a'.repeat(40), subject: 'Sneak in' }] } },
    });
    const { flags } = await judgeAgentRun(folder, undefined);
    expect(flags.map(({ flag, seq }) => [flag, seq])).toEqual([
      ['denied_then_success', 2],
      ['last_command_failed_then_success', 5],
      ['tests_claimed_not_run', 6],
      ['commit_or_push_by_agent', null],
    ]);
    const { stdout } = proctor(['show', AGENT_RUN], { cwd });
    expect(stdout).toMatch(/^✗ killed policy {2}claude 2\.1\.325 {2}forbidden path\n {2}lib\/x was changed\.\n/);
    expect(stdout).toContain('  timeline  2 tool calls, 1 failed, 1 denied\n');
    expect(stdout).toContain('⊘ Write  docs/x.md  denied');
    expect(stdout).toContain('✗ Bash   make…  exit 2');
    expect(stdout).toContain('· 37.9 s without output');
    expect(stdout).toContain('    Write  Permission to use Write has been denied.  line 2\n');
    expect(stdout).toContain('    1 commit\n    aaaaaaaaa  Sneak in\n');
    expect(stdout).toContain(
      '⚠ The last command ended with exit code 2, but the last message claims success. (last_command_failed_then_success, line 5 of the transcript)',
    );
    expect(stdout).toContain('violated  ✗ forbidden path: A path was changed. (lib/x)');
    await expectValid(folder);
  });

  test('marks a completed run with policy violations as failed', async () => {
    const violation = { class: 'native_policy_block', message: 'Write was denied.', hard: false } as const;
    const { cwd } = await placeWith({ policy: { violations: [violation] } });
    expect(proctor(['show'], { cwd }).stdout).toMatch(/^✗ completed, with policy violations {2}claude 2\.1\.325\n/);
  });

  test('escapes control characters from the agent', async () => {
    const evil = '\u001b[2J\u202e\u0007\r';
    const events: Happening[] = [
      { kind: 'tool_call', call: 'a', tool: evil, input: text('{}'), command: text(evil), atMs: 1 },
      { kind: 'tool_call', call: 'b', tool: 'x', input: text('{}'), path: evil, atMs: 1 },
      { kind: 'denial', call: 'a', tool: evil, reason: evil, atMs: 2 },
      { kind: 'file_change', path: `z${evil}`, change: 'add', atMs: 2 },
      { kind: 'retry', attempt: 1, status: null, message: evil, atMs: 3 },
      { kind: 'note', level: 'error', text: evil, atMs: 3 },
      { kind: 'final', ok: true, body: text(`Done ${evil}\n${evil}`), atMs: 4 },
    ];
    const { cwd } = await placeWith({
      events,
      task: `x${evil}`,
      judgement: { model: evil, session: evil, warnings: [`w${evil}`] },
      workspace: { commits: { total: 1, listed: [{ sha: 'a'.repeat(40), subject: evil }] } },
    });
    for (const args of [['show', 'latest'], ['show', 'latest', '--json'], ['list'], ['list', '--json']]) {
      const { code, stdout, stderr } = proctor(args, { cwd });
      expect(code, stderr).toBe(0);
      const telling = [...stdout].filter(sign => (sign < ' ' && sign !== '\n') || sign === '\u202e');
      expect(telling, args.join(' ')).toEqual([]);
    }
  });

  test('prints everything as JSON', async () => {
    const { cwd } = await placeWith();
    const shown = JSON.parse(proctor(['show', 'latest', '--json'], { cwd }).stdout) as Record<string, unknown>;
    expect(shown).toMatchObject({
      kind: 'agent',
      run_id: AGENT_RUN,
      is_open: false,
      is_whole: true,
      outcome: { termination: 'completed' },
      timeline: { calls: { total: 3 }, omitted: { count: 0 } },
      diff: { total: 2, added: 3, removed: 1 },
      flags: [],
      final_response: 'I added a test for parse(), and all tests pass.',
    });
  });

  test('reports that a changed folder does not verify', async () => {
    const { cwd, folder } = await placeWith();
    writeFileSync(path.join(folder, 'workspace.diff'), '');
    expect(proctor(['show', 'latest'], { cwd }).stdout).toContain('does not verify: run proctor verify for details');
  });

  test('shows the progress of a running agent', () => {
    const { cwd } = openPlace(HERE);
    const { stdout } = proctor(['show', 'latest'], { cwd });
    expect(stdout).toContain(`${AGENT_RUN}  is still running\n  agent     claude 2.1.325\n  task      Add a test`);
    expect(stdout).toContain('… Write  tests/parse.test.ts  no answer');
  });
});

describe('proctor list', () => {
  test('shows how an agent ended and its task', async () => {
    const { cwd } = await placeWith({ task: `\n ${'word '.repeat(40)}\nmore` });
    const { stdout } = proctor(['list'], { cwd });
    expect(stdout).toMatch(
      new RegExp(`^completed {6}2026-04-03 10:15:00 +65 s {2}${AGENT_RUN} {2}claude: (?:word ){11,12}wo?r?d?…\\n$`),
    );
    const { runs } = JSON.parse(proctor(['list', '--json'], { cwd }).stdout) as { runs: object[] };
    expect(runs).toMatchObject([{ kind: 'agent', status: 'completed', duration_ms: 65_000 }]);
  });

  test('shows a running agent', () => {
    const { cwd, folder } = openPlace(HERE);
    expect(proctor(['list'], { cwd }).stdout).toMatch(
      /^running {8}2026-04-03 .* claude: Add a test for parse\(\)\.\n$/,
    );
    expect(existsSync(path.join(folder, 'journal.ndjson'))).toBe(true);
  });
});

describe('an agent run', () => {
  test('is recovered after a crash, verifies, and is shown and pruned like any other', async () => {
    const { cwd, folder } = openPlace(GONE);
    expect(proctor(['recover'], { cwd }).stdout).toContain('was interrupted; its run folder is complete now');
    await expectValid(folder);
    const { stdout } = proctor(['show', 'latest'], { cwd });
    expect(stdout).toMatch(/^✗ error {2}claude 2\.1\.325 {2}interrupted\n/);
    expect(stdout).toContain('  response  none\n');
    expect(stdout).toContain('  changes   unknown: the run has no diff\n');
    expect(proctor(['list'], { cwd }).stdout).toMatch(/^error {10}2026/);
    expect(proctor(['prune', '--older-than', '1d'], { cwd }).stdout).toContain(AGENT_RUN);
    expect(existsSync(folder)).toBe(false);
  });

  test('is packed with its evaluation and unpacked', async () => {
    const { cwd, folder } = await placeWith();
    await judgeAgentRun(folder, undefined);
    const packed = proctor(['pack', 'latest', '--out', 'a.proctor.tar'], { cwd });
    expect(packed.code, packed.stderr).toBe(0);
    expect(proctor(['verify', 'a.proctor.tar'], { cwd }).code).toBe(0);
    const copy = path.join(cwd, 'copy');
    cpSync(folder, copy, { recursive: true });
    rmSync(folder, { recursive: true });
    const unpacked = proctor(['unpack', 'a.proctor.tar', '--to', 'back'], { cwd });
    expect(unpacked.code, unpacked.stderr).toBe(0);
    expect(readFileSync(path.join(cwd, 'back/evaluation.json'))).toEqual(
      readFileSync(path.join(copy, 'evaluation.json')),
    );
    expect(proctor(['show', 'back'], { cwd }).stdout).toMatch(/^✓ completed/);
  });

  test('is not packed with files that no agent run contains', async () => {
    const folder = await sealedFolder('agent', AGENT_RUN, { ...agentFiles(), 'notes.txt': 'x' });
    const { code, stderr } = proctor(['pack', folder], { cwd: temporaryFolder() });
    expect(code).not.toBe(0);
    expect(stderr).toContain('notes.txt does not belong in an agent run');
  });
});
