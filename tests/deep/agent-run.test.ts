import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AgentOutcome } from '../../src/contracts/agent-step/index.ts';
import { startModelApi } from '../../stand-ins/model-api.ts';
import {
  AgentWorld,
  completed,
  ended,
  expectAll,
  linesIn,
  placePrograms,
  type Row,
  WITH_KEYS,
} from '../run/agent/world.ts';
import { randomFrom, SEED } from '../support/random.ts';
import { cgroupsOfOurs, groupsLeft, processesWith, smallHome, until } from '../support/runs.ts';

placePrograms();

const flagged = (...flags: string[]): object => ({ flags: flags.map(flag => expect.objectContaining({ flag })) });
const EDIT = ['--policy', 'edit'];
/** Unique on this machine. */
const SLEEP = String(300_000 + process.pid);
const IDLE = [...EDIT, '--idle-timeout', '3s'];
/** Long enough for a slow machine to start a program and show progress. */
const PATIENT = [...EDIT, '--idle-timeout', '10s'];

/** Runs all rows in one world, so that probes are cached and everything is verified at the end. */
const ROWS: readonly Row[] = [
  ['claude', 'DO=write', 'edit', { ...completed, changes: { files: 1, commits: 0 }, violations: [] }],
  ['codex', 'DO=write DO=commit', 'edit', { ...completed, changes: { files: 2, commits: 1 } }],
  ['claude', 'DO=lines:50 DO=unknown DO=not_json DO=bad_utf8', 'edit', completed],
  ['codex', 'DO=no_last_message DO=warn DO=retry:3', 'edit', completed],
  ['claude', 'DO=exit:3', 'edit', ended('error', 'exit_nonzero')],
  ['codex', 'DO=signal:SIGKILL', 'edit', { ...ended('error', 'exit_nonzero'), ending: { how: 'exited', code: 137 } }],
  ['claude', 'DO=no_result', 'edit', ended('error', 'incomplete_stream')],
  ['codex', 'DO=half_result', 'edit', ended('error', 'incomplete_stream')],
  ['claude', 'DO=no_text', 'edit', ended('error', 'incomplete_stream')],
  ['codex', 'DO=api_error:529', 'edit', ended('error', 'api_error')],
  ['claude', 'DO=api_error_exit_0:500', 'edit', ended('error', 'api_error')],
  ['claude', 'DO=claim_tests', 'edit', { ...completed, ...flagged('done_but_no_change', 'tests_claimed_not_run') }],
  ['claude', 'DO=failed_command DO=write', 'edit', { ...completed, ...flagged('last_command_failed_then_success') }],
  ['claude', 'DO=write', 'read-only', { ...ended('error', 'exit_nonzero'), changes: { files: 0, commits: 0 } }],
  ['claude', 'DO=deny', 'edit', { ...completed, violations: [{ class: 'native_policy_block', hard: false }] }],
  ['codex', 'DO=deny', 'strict.yaml', { ...ended('killed_policy', 'denied_tool'), denials: 1 }],
  ['claude', 'DO=move:main', 'edit', ended('killed_policy', 'protected_branch')],
  ['codex', 'DO=rewrite', 'edit', ended('killed_policy', 'forbidden_operation')],
  ['claude', 'DO=commit:docs/a.txt', 'strict.yaml', ended('killed_policy', 'forbidden_operation')],
  ['claude', 'DO=write_secretly:src/a.txt', 'strict.yaml', ended('killed_policy', 'forbidden_path')],
  ['codex', 'DO=write:docs/legal/a.txt', 'strict.yaml', ended('killed_policy', 'forbidden_path')],
  ['claude', 'DO=write:docs/a.txt', 'strict.yaml', { ...completed, violations: [] }],
];

test('reports every ending correctly and does not touch the repository', () => expectAll(ROWS));

describe('an agent at its limits', () => {
  test.each([
    ['DO=hang', IDLE, ended('killed_idle', 'stalled')],
    ['DO=retry', IDLE, ended('killed_idle', 'stalled')],
    ['DO=no_line_feed', IDLE, ended('killed_idle', 'stalled')],
    ['DO=deaf', IDLE, ended('killed_idle', 'stalled')],
    ['DO=linger', [...EDIT, '--timeout', '60s'], { ...completed, left_running: { processes: 0, programs: [] } }],
    ['DO=hang', [...EDIT, '--timeout', '3s'], ended('killed_timeout', 'wall_clock')],
    ['DO=quiet_tool:15000', PATIENT, completed],
    ['DO=say DO=wait:3000 '.repeat(5), PATIENT, completed],
    ['DO=flood:5000000000', EDIT, ended('error', 'limit_output')],
    ['DO=long_line:100000000', EDIT, completed],
    ['DO=memory', ['--policy', 'small.yaml'], ended('error', 'out_of_memory')],
    ['DO=processes:5000', EDIT, completed],
    [`DO=detach:${SLEEP} DO=detach_holding:${SLEEP}`, EDIT, completed],
    [`DO=detach:${SLEEP} DO=linger`, EDIT, completed],
    [`DO=detach:${SLEEP} DO=deaf`, IDLE, ended('killed_idle', 'stalled')],
    ['DO=big:3000000000', EDIT, ended('error', 'limit_output')],
  ] as const)('reports the correct termination for %s with %j', (task, flags, expected) => {
    const world = new AgentWorld();
    world.place.file('small.yaml', 'name: small\nextends: edit\nlimits:\n  memory_bytes: 536870912\n');
    const { answer, stderr } = world.run('claude', task, flags);
    expect(answer, stderr).toMatchObject(expected);
    expect(processesWith(SLEEP)).toEqual([]);
  });

  test.each(['stdout', 'stdout_line', 'stderr', 'stderr_line'])('is stopped when it asks on %s', where => {
    const world = new AgentWorld();
    world.place.file('strict.yaml', 'name: strict\nextends: edit\napproval_posture: fail_on_prompt\n');
    const killed = world.run('claude', `DO=ask:${where}`, ['--policy', 'strict.yaml']).answer;
    expect(killed).toMatchObject(ended('killed_policy', 'prompt_detected'));
    const stopped = world.run('codex', `DO=ask:${where}`, EDIT).answer;
    expect(stopped).toMatchObject(ended('error', 'prompt_detected'));
  });

  test('is diffed only after its last writer has ended', () => {
    const world = new AgentWorld();
    const task = `DO=write DO=detach_holding:${SLEEP} DO=late`;
    const { answer, folder } = world.run('claude', task, [...EDIT, '--timeout', '10s']);
    expect(answer).toMatchObject(ended('killed_timeout', 'wall_clock'));
    // Includes the text that it wrote on SIGTERM.
    const diff = readFileSync(path.join(folder, 'workspace.diff'), 'utf8');
    expect(diff).toContain('+hello from the agent\n');
    expect(diff).toContain('+written after the kill\n');
    expect(processesWith(SLEEP)).toEqual([]);
  });

  test('is stopped for a question on stdout, whatever follows on stderr', () => {
    const world = new AgentWorld({ 'question.txt': 'Overwrite it? (y/n) ' });
    const { answer } = world.run('claude', 'DO=print_file:question.txt DO=on_stderr:noise DO=hang', EDIT);
    expect(answer).toMatchObject(ended('error', 'prompt_detected'));
  });

  test('may print lines up to the limit, and a line one byte longer is ignored', () => {
    const line = (bytes: number): string => {
      const frame = '{"type":"assistant","message":{"content":[{"type":"text","text":""}]}}';
      return frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`);
    };
    const most = 16 * 1024 * 1024;
    const world = new AgentWorld({ 'lines.txt': `${line(most - 1)}\n${line(most)}\n${line(most + 1)}\n` });
    const { answer, folder } = world.run('claude', 'DO=print_file');
    expect(answer).toMatchObject(completed);
    expect(linesIn(folder).filter(({ kind }) => kind === 'message').length).toBe(3);
  });
});

const outcomeIn = (folder: string): AgentOutcome =>
  JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8')) as AgentOutcome;

describe('Proctor', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('leaves evidence or nothing if %s stops it at any moment', async name => {
    for (let time = 0; time < 5; time++) {
      const world = new AgentWorld();
      const started = world.start('claude', 'DO=write DO=hang');
      await wait(time * 400);
      started.kill(name);
      const { code, signal, stderr } = await started.ended;
      if (signal === null) expect(code, stderr).toBe(name === 'SIGINT' ? 130 : 143);
      world.place.expectClean();
    }
  });

  test(`leaves only a run that recover completes, whenever it is killed (seed ${SEED})`, async () => {
    const random = randomFrom(SEED);
    const before = new Set(cgroupsOfOurs());
    for (let time = 0; time < 10; time++) {
      const world = new AgentWorld();
      const started = world.start('claude', 'DO=lines:400 DO=write DO=commit DO=wait:300 DO=detach:1');
      await wait(random() * 2_500);
      started.kill('SIGKILL');
      await started.ended;
      // A kill during cloning leaves a partial clone, and git may still write to it.
      await until('nothing of the run is left', () => {
        const { code, stderr } = world.tried(['recover']);
        expect(code, stderr).toBe(0);
        return readdirSync(world.place.temp).length === 0;
      });
      world.place.expectClean();
      for (const folder of world.place.runFolders()) {
        const { termination, recovered } = outcomeIn(folder);
        // The launcher outlives Proctor, so the agent's changes are always known.
        if (recovered) expect(recovered.unknown).not.toContain('workspace');
        expect(termination === 'completed').toBe(recovered === undefined);
      }
      await until('no control group is left', () => groupsLeft(before).length === 0);
    }
  });
});

describe('a full disk', () => {
  test.for([16, 64, 96, 3_072])('of %i KiB is reported as such, and the run can be completed', (kib, context) => {
    const world = new AgentWorld();
    const disk = smallHome(context, world.place, kib);
    const { code, stdout, stderr } = world.tried(world.args('claude', 'DO=write DO=lines:20000'));
    expect(code, stderr).toBe(2);
    expect(stdout).toMatch(/^\{"ok":false,.*: the disk is full\./);
    // A run that could not start leaves nothing.
    expect(stdout.includes('Run proctor recover to complete it')).toBe(world.place.runFolders().length > 0);
    expect(stderr).not.toMatch(/ENOSPC|\n\s+at /);
    disk.grow();
    const recovered = world.tried(['recover']);
    expect(recovered.code, recovered.stderr).toBe(0);
    world.place.expectClean();
    for (const folder of world.place.runFolders())
      expect(JSON.parse(readFileSync(path.join(folder, 'result.json'), 'utf8'))).toMatchObject(
        ended('error', 'interrupted'),
      );
  });
});

test('a recording replaces the model and reports requests that differ', async () => {
  const world = new AgentWorld();
  const api = await startModelApi();
  onTestFinished(() => api.close());
  const mode = (word: string): string[] => ['--model-mode', word, '--recording', 'model.json'];
  const run = async (flags: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    world.ran(await world.start('claude', 'DO=model', flags, env).ended);
  const model = { ANTHROPIC_API_KEY: 'the-key-of-the-model', ANTHROPIC_BASE_URL: api.url };
  const recorded = await run(mode('record'), model);
  expect(recorded.answer).toMatchObject({ ...completed, model_access: { mode: 'record', requests: 1 } });
  await api.close();
  const replayed = await run(mode('replay'));
  expect(replayed.answer).toMatchObject({ ...completed, model_access: { mode: 'replay', requests: 1 } });
  const timeless = (folder: string): object[] => linesIn(folder).map(line => Object.assign(line, { at_ms: 0 }));
  expect(timeless(replayed.folder)).toEqual(timeless(recorded.folder));
  // The stand-in ignores the failure and exits with 0.
  const other = await run([...mode('replay'), '--model', 'another']);
  const difference = 'request 1 differs from the recording at model: recorded "claude-opus-5-5", received "another"';
  expect(other.answer).toMatchObject({
    ...ended('error', 'protocol_error'),
    message: difference,
    model_access: { difference },
  });
  expect(other.code).toBe(1);
});

test('a task is read only from a regular file and never blocks', () => {
  const world = new AgentWorld();
  const base = ['run', 'agent', '--agent', 'claude', '--dir', world.repository, '--task-file'];
  for (const file of ['/dev/zero', '/dev/tty', world.repository]) {
    const { code, stderr } = world.tried([...base, file]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: The task file \S+ is not a file\.\n$/);
  }
  expect(existsSync(path.join(world.place.cwd, '.proctor', 'runs'))).toBe(false);
});

test.each(['read-only', 'edit', 'open'])(
  '100 MB arrive complete under %s, from a program that does not handle EAGAIN',
  policy => {
    const LINES = 10;
    const LINE_BYTES = 10_000_000;
    const world = new AgentWorld();
    for (const agent of ['claude', 'codex'] as const) {
      const task = `DO=knock ${`DO=at_once:${LINE_BYTES} `.repeat(LINES)}`;
      const { answer, folder, stderr } = world.run(agent, task, ['--policy', policy], WITH_KEYS);
      expect(answer, `${agent} ${stderr}`).toMatchObject(completed);
      const lines = readFileSync(path.join(folder, 'evidence/native/stdout.log'), 'latin1').split('\n');
      const whole = `{"type":"flood","text":"${'x'.repeat(LINE_BYTES)}"}`;
      expect(lines.filter(line => line === whole).length, agent).toBe(LINES);
    }
  },
);

test.each([
  ['is slow lets the agent complete', 36, ['--idle-timeout', '4s'], completed],
  [
    'never finishes is ended by the timeout',
    Infinity,
    ['--idle-timeout', '4s', '--timeout', '12s'],
    ended('killed_timeout', 'wall_clock'),
  ],
  ['stops sending is ended by the idle timeout', 1, ['--idle-timeout', '4s'], ended('killed_idle', 'stalled')],
] as const)('a model that %s', async (_, pieces, flags, expected) => {
  const api = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let left: number = pieces;
    const timer = setInterval(() => {
      if (left-- > 0) response.write('event: ping\ndata: {}\n\n');
      else if (pieces > 1) response.end();
    }, 250);
    response.on('close', () => clearInterval(timer));
  });
  onTestFinished(() => {
    api.close();
    api.closeAllConnections();
  });
  await new Promise<void>(resolve => api.listen(0, '127.0.0.1', resolve));
  const { port } = api.address() as AddressInfo;
  const world = new AgentWorld();
  const env = { ANTHROPIC_API_KEY: 'the-key-of-the-model', ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` };
  const { answer, stderr } = world.ran(await world.start('claude', 'DO=model', flags, env).ended);
  expect(answer, stderr).toMatchObject(expected);
});
