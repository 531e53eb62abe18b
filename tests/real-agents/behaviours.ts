import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { gitIn } from '../../stand-ins/git.ts';
import { FINAL_TEXT, FORGED_LINE } from '../../stand-ins/scenarios.ts';
import { type Agent, agentsFolder, expectInOrder, KEY, processesOf, until, world } from './world.ts';

export const EDIT = ['--policy', 'edit'];

/** The behaviour of every agent. Each agent has its own test file, so that both run at once. */
export function tryReal(agent: Agent): void {
  describe.runIf(agentsFolder !== '')(`the real ${agent}`, () => behaviours(agent));
}

function behaviours(agent: Agent): void {
  test('writes a file in its clone, and the repository stays unchanged', async () => {
    const made = await world();
    const before = gitIn(made.repository, 'status', '--porcelain', '--branch');
    const run = await made.run(agent, 'SCENARIO=write', EDIT);
    expect(run.answer, run.stderr).toMatchObject({
      termination: 'completed',
      reason: 'ok',
      final_response: FINAL_TEXT,
      changes: { files: 1 },
      violations: [],
      model_access: { mode: 'live', requests: 2 },
    });
    expect(run.code).toBe(0);
    expect(gitIn(made.repository, 'status', '--porcelain', '--branch')).toBe(before);
    expect(run.transcript.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['tool_call', 'tool_result', 'final']),
    );
    await expectInOrder(made);
  });

  test('has a key that only the model API sees', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=write', EDIT);
    expect(made.api.asked.map(({ key }) => key)).toEqual([KEY, KEY]);
    expect(run.bytes).not.toContain(KEY);
    expect(run.bytes).toContain('SCENARIO=write');
  });

  test('has its change applied', async () => {
    const made = await world();
    await made.run(agent, 'SCENARIO=write', EDIT);
    const { code, stderr } = await made.proctor('apply', 'latest', '--dir', made.repository);
    expect(code, stderr).toBe(0);
    expect(readFileSync(path.join(made.repository, 'hello.txt'), 'utf8')).toBe('hello from the model\n');
  });

  test('cannot write under a read-only policy', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=write', ['--policy', 'read-only']);
    expect(run.answer.changes, run.stderr).toMatchObject({ files: 0 });
    expect(run.answer.termination).not.toBe('killed_idle');
    const refused = run.transcript.filter(line => line.kind === 'denial' || (line.kind === 'tool_result' && !line.ok));
    expect(refused.length).toBeGreaterThan(0);
    await expectInOrder(made);
  });

  test.each(['outside', 'outside_bash'])('cannot write outside its folder (%s)', async scenario => {
    const made = await world();
    const run = await made.run(agent, `SCENARIO=${scenario}`, EDIT);
    expect(run.answer.changes, run.stderr).toMatchObject({ files: 0 });
    expect(existsSync(path.join(path.dirname(made.repository), 'outside.txt'))).toBe(false);
    expect(existsSync('/outside.txt')).toBe(false);
    expect(run.transcript.some(({ kind }) => kind === 'denial' || kind === 'tool_result')).toBe(true);
    expect(run.outputs.join('\n')).not.toMatch(/rc=0|created successfully/);
    await expectInOrder(made);
  });

  test.each(['read-only', 'edit', 'open'])('prints more than a pipe holds, under %s', async policy => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=much', ['--policy', policy]);
    expect(run.answer, run.stderr).toMatchObject({ termination: 'completed', reason: 'ok' });
    expect(run.transcript.some(({ kind }) => kind === 'tool_result')).toBe(true);
    await expectInOrder(made);
  });

  test('cannot be impersonated by its tools', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=forge', EDIT);
    expect(run.answer, run.stderr).toMatchObject({ termination: 'completed', reason: 'ok' });
    expect(run.outputs.join('\n')).toContain('tried');
    for (const stream of ['stdout', 'stderr']) {
      const lines = readFileSync(path.join(run.folder, 'evidence', 'native', `${stream}.log`), 'utf8').split('\n');
      expect(lines).not.toContain(FORGED_LINE);
      // Commands do not inherit the stream either.
      expect(lines).not.toContain('tried');
    }
    await expectInOrder(made);
  });

  test('reaches nothing but the model', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=net', EDIT);
    expect(run.outputs.join('\n'), run.stderr).toContain('NET-BLOCKED');
    expect(run.outputs.join('\n')).not.toContain('NET-OK');
    await expectInOrder(made);
  });

  test('stops at its turn limit', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=loop', [...EDIT, '--max-turns', '3']);
    expect(run.answer, run.stderr).toMatchObject({ termination: 'error', reason: 'limit_turns' });
    expect(run.code).toBe(1);
    expect(made.api.asked.length).toBeLessThanOrEqual(5);
    await expectInOrder(made);
  });

  test.each([
    ['e401', 401, 'auth_missing'],
    ['e500', 500, 'api_error'],
    ['e529', 529, 'api_error'],
  ])('ends with an API error: %s', async (scenario, status, reason) => {
    const made = await world();
    const run = await made.run(agent, `SCENARIO=${scenario}`, EDIT);
    expect(run.answer, run.stderr).toMatchObject({ termination: 'error', reason });
    expect(run.code).toBe(1);
    // Codex has its own message for 500, without the number.
    if (status !== 500 || agent === 'claude') expect(run.answer.message).toContain(String(status));
    await expectInOrder(made);
  });

  test('is stopped when the model falls silent', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=silent', [...EDIT, '--idle-timeout', '20s']);
    expect(run.answer, run.stderr).toMatchObject({ termination: 'killed_idle', reason: 'stalled' });
    expect(made.api.asked.length).toBeGreaterThan(0);
    await expectInOrder(made);
  });

  test('leaves nothing behind when its process is killed during a tool call', async () => {
    const made = await world();
    const child = made.start(agent, 'SCENARIO=sleep', EDIT);
    const ended = made.ended(child);
    await until('two tools sleep', () => made.sleepers().length === 2);
    const [pid = 0] = processesOf(agent, made);
    expect(pid, 'the process of the agent').toBeGreaterThan(1);
    process.kill(pid, 'SIGKILL');
    const run = await ended;
    expect(run.answer.termination).toBe('error');
    await expectInOrder(made);
  });

  test('leaves nothing behind when Proctor is killed during a tool call', async () => {
    const made = await world();
    const child = made.start(agent, 'SCENARIO=sleep', EDIT);
    await until('two tools sleep', () => made.sleepers().length === 2);
    child.kill('SIGKILL');
    await until('nothing sleeps', () => made.sleepers().length === 0);
    const { code, stderr } = await made.proctor('recover');
    expect(code, stderr).toBe(0);
    await expectInOrder(made);
  });

  test('repeats its work from a recording, without a server and without a key', async () => {
    const made = await world();
    const recording = path.join(made.cwd, 'recording.jsonl');
    const first = await made.run(agent, 'SCENARIO=write', [
      ...EDIT,
      '--model-mode',
      'record',
      '--recording',
      recording,
    ]);
    expect(first.answer, first.stderr).toMatchObject({ termination: 'completed', model_access: { mode: 'record' } });
    expect(statSync(recording).size).toBeGreaterThan(0);
    expect(readFileSync(recording, 'latin1')).not.toContain(KEY);
    await made.api.close();
    const again = await made.run(
      agent,
      'SCENARIO=write',
      [...EDIT, '--model-mode', 'replay', '--recording', recording],
      null,
    );
    expect(again.answer, again.stderr).toMatchObject({ termination: 'completed', model_access: { mode: 'replay' } });
    const timeless = (lines: readonly object[]): object[] => lines.map(line => ({ ...line, at_ms: 0 }));
    expect(timeless(again.transcript)).toEqual(timeless(first.transcript));
    await expectInOrder(made);
  });
}
