import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { agentResult, policySummary, runnerMetadata, stepManifest } from '../../src/contracts/agent-step/index.ts';
import { workspaceStatus } from '../../src/contracts/workspace/index.ts';
import { finish } from '../../src/evidence/finish.ts';
import { storedFiles } from '../../src/evidence/sealed-files.ts';
import { workspaceStatusOf } from '../../src/evidence/workspace-status.ts';
import { CHANGE_LIMITS } from '../../src/execute/changes.ts';
import { exampleWith, judged, proctor } from '../support.ts';
import { given, put, repository, RUN } from '../execute/clone-world.ts';

const STEP = 'evidence/steps/agent';

interface Telling {
  readonly files?: Record<string, string>;
  readonly termination?: string;
  readonly violations?: readonly object[];
  readonly diffBytesMax?: number;
}

/** The sealed folder of an agent's run in a repository, in the home of that repository. */
async function agentRun(told: Telling = {}): Promise<{ folder: string; home: string }> {
  const home = repository({ 'readme.md': 'hello\n', 'src/a.ts': 'one\n', '.gitignore': '.proctor/\n' });
  const { tree, took } = await given(home);
  put(tree, told.files ?? { 'src/a.ts': 'two\n', 'new file': 'n\n' });
  const changes = await took({
    ...CHANGE_LIMITS,
    ...(told.diffBytesMax !== undefined && { diffBytesMax: told.diffBytesMax }),
  });
  const folder = path.join(home, '.proctor/runs/agent', RUN);
  const status = workspaceStatusOf(RUN, changes);
  expect((await judged(workspaceStatus, status, { strict: true })).violations).toEqual([]);
  put(folder, {
    'workspace.diff': readFileSync(changes.out),
    [`${STEP}/transcript.txt`]: '',
    [`${STEP}/final.txt`]: 'Done.',
  });
  const documents: [string, string][] = [
    [
      'result.json',
      canonicalize(
        exampleWith(agentResult, {
          termination: told.termination ?? 'completed',
          transcript_path: `${STEP}/transcript.txt`,
          final_response_path: `${STEP}/final.txt`,
        }),
      ),
    ],
    [`${STEP}/policy_summary.json`, canonicalize(exampleWith(policySummary, { violations: told.violations ?? [] }))],
    [`${STEP}/workspace_status.json`, canonicalize(status)],
  ];
  documents.push([`${STEP}/runner_metadata.json`, canonicalize(runnerMetadata.example)]);
  documents.push([
    `${STEP}/manifest.json`,
    canonicalize(manifestOf(folder, documents, told.termination ?? 'completed')),
  ]);
  const sealedAtMs = Date.parse('2026-04-03T10:15:07.412Z');
  await finish(folder, {
    runId: RUN,
    kind: 'agent',
    documents,
    stored: storedFiles([]),
    passing: [],
    sealedAtMs,
    signer: undefined,
  });
  return { folder, home };
}

/** The manifest of the step, with a digest of every file. */
function manifestOf(folder: string, documents: readonly [string, string][], termination: string): unknown {
  const roles: [string, string][] = [
    ['runner_transcript', `${STEP}/transcript.txt`],
    ['runner_final_response', `${STEP}/final.txt`],
    ['runner_metadata', `${STEP}/runner_metadata.json`],
    ['policy_summary', `${STEP}/policy_summary.json`],
    ['workspace_status', `${STEP}/workspace_status.json`],
    ['workspace_diff', 'workspace.diff'],
  ];
  const artifacts = roles.map(([role, file]) => {
    const bytes = Buffer.from(new Map(documents).get(file) ?? readFileSync(path.join(folder, file)));
    const isRequired = !role.startsWith('workspace');
    return {
      role,
      path: file,
      media_type: 'text/plain',
      required: isRequired,
      sha256: bytesHash(bytes),
      size_bytes: bytes.length,
    };
  });
  const references: unknown[] = [];
  return exampleWith(stepManifest, {
    step_id: 'agent',
    termination,
    artifacts,
    'evidence_summary.references': references,
  });
}

const textOf = (home: string, file: string): string => readFileSync(path.join(home, file), 'utf8');

describe('proctor apply', () => {
  test('brings the changes of a run home, tells them, and commits nothing', async () => {
    const { home } = await agentRun();
    const check = proctor(['apply', RUN, '--check'], { cwd: home });
    expect(check, check.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('can be applied') as string });
    expect(textOf(home, 'src/a.ts')).toBe('one\n');
    const { code, stdout, stderr } = proctor(['apply', RUN], { cwd: home });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/applied {2}.*: 2 files\n {2}A new file\n {2}M src\/a\.ts\n/);
    expect(textOf(home, 'src/a.ts')).toBe('two\n');
    const again = proctor(['apply', RUN, '--json'], { cwd: home });
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toMatchObject({
      ok: false,
      error: { code: 'not_applied', message: expect.stringContaining('src/a.ts') as string },
    });
  });

  test('has nothing to do where nothing changed', async () => {
    const { home } = await agentRun({ files: {} });
    const { code, stdout } = proctor(['apply', RUN], { cwd: home });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('changed nothing') as string });
  });

  test.each<[string, Telling, RegExp]>([
    ['was ended for its policy', { termination: 'killed_policy' }, /broke its policy/],
    [
      'broke its policy and went on',
      { violations: [{ class: 'forbidden_path', message: 'It wrote to secrets.', path: 'secrets', hard: true }] },
      /broke its policy: It wrote to secrets\./,
    ],
    ['changed more than was kept', { diffBytesMax: 200 }, /not whole/],
    ['did not complete', { termination: 'killed_timeout' }, /did not complete its task: killed_timeout/],
  ])('refuses a run that %s', async (_, told, words) => {
    const { home } = await agentRun(told);
    const { code, stderr } = proctor(['apply', RUN], { cwd: home });
    expect(stderr).toMatch(words);
    expect(code).toBe(1);
    expect(textOf(home, 'src/a.ts')).toBe('one\n');
  });

  test('takes what a run left that did not complete, if it is asked to', async () => {
    const { home } = await agentRun({ termination: 'error' });
    expect(proctor(['apply', RUN, '--anyway', '--json'], { cwd: home })).toMatchObject({ code: 0 });
    expect(textOf(home, 'src/a.ts')).toBe('two\n');
  });

  test('refuses a run whose diff was exchanged, and one that says less than it must', async () => {
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
