import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { workspaceStatus } from '../../src/contracts/workspace/index.ts';
import { workspaceStatusOf } from '../../src/evidence/agent/workspace-status.ts';
import { CHANGE_LIMITS } from '../../src/execute/worktree/changes.ts';
import { judged, proctor } from '../support/support.ts';
import { agentFolder, type Told } from '../evidence/agent/agent-world.ts';
import { given, put, repository, RUN } from '../execute/worktree/clone-world.ts';

interface Telling extends Pick<Told, 'judgement' | 'policy' | 'ending'> {
  readonly files?: Record<string, string>;
  readonly diffBytesMax?: number;
}

/** A sealed agent run, stored in its repository. */
async function agentRun({ files, diffBytesMax, ...told }: Telling = {}): Promise<{ folder: string; home: string }> {
  const home = repository({ 'readme.md': 'hello\n', 'src/a.ts': 'one\n', '.gitignore': '.proctor/\n' });
  const { tree, took } = await given(home);
  put(tree, files ?? { 'src/a.ts': 'two\n', 'src/new file': 'n\n' });
  const changes = await took({ ...CHANGE_LIMITS, ...(diffBytesMax !== undefined && { diffBytesMax }) });
  const workspace = workspaceStatusOf(RUN, changes);
  expect((await judged(workspaceStatus, workspace, { strict: true })).violations).toEqual([]);
  const diff = readFileSync(changes.out, 'utf8');
  const folder = await agentFolder(path.join(home, '.proctor'), { ...told, diff, workspace });
  return { folder, home };
}

const textOf = (home: string, file: string): string => readFileSync(path.join(home, file), 'utf8');

const BROKEN: Telling = {
  policy: { violations: [{ class: 'forbidden_path', message: 'It wrote to secrets.', path: 'secrets', hard: true }] },
  judgement: { termination: 'killed_policy', reason: 'forbidden_path', detail: 'secrets was changed.' },
};

const LATE: Telling = {
  ending: { how: 'killed', by: 'timeout', signal: 'SIGKILL' },
  judgement: { termination: 'killed_timeout', reason: 'wall_clock', detail: 'The agent exceeded its time limit.' },
};

describe('proctor apply', () => {
  test('applies the changes of a run, lists them, and commits nothing', async () => {
    const { home } = await agentRun();
    const check = proctor(['apply', RUN, '--check'], { cwd: home });
    expect(check, check.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('can be applied') as string });
    expect(textOf(home, 'src/a.ts')).toBe('one\n');
    const { code, stdout, stderr } = proctor(['apply', RUN], { cwd: home });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/applied {2}.*: 2 files\n {2}M src\/a\.ts\n {2}A src\/new file\n/);
    expect(textOf(home, 'src/a.ts')).toBe('two\n');
    const again = proctor(['apply', RUN, '--json'], { cwd: home });
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toMatchObject({
      ok: false,
      error: { code: 'not_applied', message: expect.stringContaining('src/a.ts') as string },
    });
  });

  test('rejects another repository even if the diff applies', async () => {
    const { home } = await agentRun();
    const other = repository({ 'readme.md': 'hello\n', 'src/a.ts': 'one\n', other: '' });
    const refused = proctor(['apply', RUN, '--dir', other], { cwd: home });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('does not contain the commit that the agent worked on');
    expect(textOf(other, 'src/a.ts')).toBe('one\n');
    expect(proctor(['apply', RUN, '--dir', other, '--anyway'], { cwd: home }).code).toBe(0);
    expect(textOf(other, 'src/a.ts')).toBe('two\n');
  });

  test('does nothing if nothing changed', async () => {
    const { home } = await agentRun({ files: {} });
    const { code, stdout } = proctor(['apply', RUN], { cwd: home });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('changed nothing') as string });
  });

  test.each<[string, Telling, RegExp]>([
    ['was stopped by its policy', BROKEN, /violated its policy: It wrote to secrets\./],
    ['changed more than was recorded', { diffBytesMax: 200 }, /truncated/],
    ['did not complete', LATE, /did not complete its task: killed_timeout/],
  ])('rejects a run that %s', async (_, told, words) => {
    const { home } = await agentRun(told);
    const { code, stderr } = proctor(['apply', RUN], { cwd: home });
    expect(stderr).toMatch(words);
    expect(code).toBe(1);
    expect(textOf(home, 'src/a.ts')).toBe('one\n');
  });

  test('applies the changes of an incomplete run with --anyway', async () => {
    const { home } = await agentRun(LATE);
    expect(proctor(['apply', RUN, '--anyway', '--json'], { cwd: home })).toMatchObject({ code: 0 });
    expect(textOf(home, 'src/a.ts')).toBe('two\n');
  });

  test('rejects a run with a replaced diff or missing documents', async () => {
    const { home, folder } = await agentRun();
    put(folder, { 'workspace.diff': textOf(folder, 'workspace.diff').replace('+two', '+owned') });
    expect(proctor(['apply', RUN], { cwd: home })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('does not verify') as string,
    });
    rmSync(path.join(folder, 'workspace.diff'));
    expect(proctor(['apply', RUN], { cwd: home })).toMatchObject({ code: 1 });
    expect(textOf(home, 'src/a.ts')).toBe('one\n');
    expect(proctor(['apply', 'no-such-run'], { cwd: home }).code).toBe(2);
  });
});
