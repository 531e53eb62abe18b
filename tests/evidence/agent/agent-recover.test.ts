import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import type { Changes } from '../../../src/contracts/agent-step/changes.ts';
import type { AgentOutcome, PolicySummary } from '../../../src/contracts/agent-step/index.ts';
import { AGENT_FILES } from '../../../src/evidence/agent/agent-documents.ts';
import type { AgentLine } from '../../../src/evidence/agent/agent-run.ts';
import { SEAL } from '../../../src/evidence/run-folder/finish.ts';
import { JOURNAL } from '../../../src/evidence/run-folder/journal.ts';
import type { KeptTree } from '../../../src/evidence/agent/kept-tree.ts';
import { PARTS } from '../../../src/evidence/recovery/recovery-parts.ts';
import { recoverRun } from '../../../src/evidence/recovery/recover.ts';
import type { StreamNote } from '../../../src/evidence/step/capture-note.ts';
import { KINDS } from '../../../src/run/kinds.ts';
import { proveJournal, temporaryFolder } from '../../support/support.ts';
import { agentRun, DIFF, EVENTS, type Told } from './agent-world.ts';
import { expectValid, put } from '../script/script-world.ts';

const BECAUSE = { reason: 'interrupted', message: 'It was interrupted.', detail: 'Killed.' };

/** Claude's output: a model, a denied call, a message, and half a line. */
const STREAM = [
  { type: 'system', subtype: 'init', session_id: 'the-session', model: 'claude-opus-5-5', tools: [] },
  { type: 'assistant', message: { content: [{ type: 'tool_use', id: 'a', name: 'WebFetch', input: {} }] } },
  { type: 'system', subtype: 'permission_denied', tool_name: 'WebFetch', tool_use_id: 'a', message: 'No network.' },
  { type: 'weather_report' },
  'not JSON',
].map(line => (typeof line === 'string' ? line : JSON.stringify(line)));
const NATIVE = `${STREAM.join('\n')}\n{"type":"assist`;

/** A run folder with the first lines of its journal. */
function torn(whole: number, told: Told = {}, files: Readonly<Record<string, string>> = {}) {
  const { run, files: written } = agentRun({ events: EVENTS.slice(0, 5), finalText: 'Done.', ...told });
  const { plan, judgement, completedAtMs } = run;
  const native = files[AGENT_FILES.stdout];
  const capture = native === undefined ? run.capture : { ...run.capture, stdout: noteOf(native) };
  const lines: AgentLine[] = [
    { is: 'planned', plan },
    { is: 'started', atMs: plan.startedAtMs + 500 },
    { is: 'captured', atMs: completedAtMs - 100, capture },
    { is: 'read', atMs: completedAtMs, reading: judgement },
  ];
  const folder = path.join(temporaryFolder(), plan.request.run_id);
  for (const [file, content] of Object.entries({ ...written, ...files })) put(folder, file, content);
  return { folder, lines: lines.slice(0, whole), nowMs: completedAtMs + 3_600_000, run };
}

function noteOf(text: string): StreamNote {
  const bytes = Buffer.byteLength(text);
  return { bytesTotal: bytes, bytesKept: bytes, sha256: bytesHash(text), masked: 0 };
}

async function recovered({ folder, lines, nowMs }: ReturnType<typeof torn>): Promise<AgentOutcome> {
  put(folder, JOURNAL, lines.map(line => `${JSON.stringify(line)}\n`).join(''));
  proveJournal(folder);
  expect(await recoverRun(folder, KINDS, { nowMs, because: BECAUSE })).toBe('recovered');
  await expectValid(folder);
  for (const part of Object.values(PARTS)) expect(existsSync(path.join(folder, part))).toBe(false);
  return json(folder, 'evidence/outcome.json') as AgentOutcome;
}

const json = (folder: string, file: string): unknown => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
const policyIn = (folder: string): PolicySummary =>
  json(folder, 'evidence/steps/agent/policy_summary.json') as PolicySummary;
const endedAt = (folder: string): string => (json(folder, 'evidence/metadata.json') as { ended_at: string }).ended_at;

const SAID = { [AGENT_FILES.stdout]: NATIVE };
const COUNTED = { [PARTS.door]: '{"requests":3,"failures":1,"difference":null}' };

function kept(changes: Partial<Changes> = {}, facts: Partial<KeptTree> = {}): Record<string, string> {
  const all: Changes = {
    kind: 'clone',
    baseSha: 'a'.repeat(40),
    baseRef: 'main',
    branch: 'proctor/run',
    diff: { bytes: Buffer.byteLength(DIFF), sha256: bytesHash(DIFF), cut: null },
    changed: [{ path: 'tests/parse.test.ts', change: 'add', bytes: 8, mode: '100644' }],
    ignored: { files: 0, bytes: 0, paths: [] },
    commits: { listed: [], total: 0 },
    refs: [],
    branchMoved: false,
    rewritten: false,
    gitFolder: 'kept',
    gitConfigChanged: false,
    hooks: [],
    nested: [],
    submodules: [],
    linksOut: [],
    collisions: [],
    leftOut: [],
    needsReview: [],
    notes: [],
    ...changes,
  };
  const tree: KeptTree = { changes: all, breaches: [], notes: [], holdsSecret: false, ...facts };
  return { [PARTS.workspace]: JSON.stringify(tree), [PARTS.diff]: DIFF };
}

describe('an interrupted agent run', () => {
  test('that had not started has counts of 0, and nothing is unknown', async () => {
    const left = torn(1, { diff: null, events: [] });
    expect(await recovered(left)).toMatchObject({
      termination: 'error',
      reason: 'interrupted',
      denials: 0,
      model_access: { requests: 0 },
      recovered: { unknown: [] },
    });
  });

  test('keeps what the model proxy counted and refused, and a refused request stays a violation', async () => {
    const counted = {
      requests: 2,
      input_tokens: 200,
      cached_input_tokens: 0,
      output_tokens: 40,
      cost_usd: null,
      estimated: 0,
    };
    const refused = { total: 1, listed: [{ what: 'endpoint', where: 'POST /v1/files', count: 1 }] };
    const stripped = { total: 0, listed: [] };
    const count = { requests: 3, failures: 1, difference: null, last_status: 200, counted, refused, stripped };
    const left = torn(2, { diff: null }, { ...SAID, [PARTS.door]: `${JSON.stringify(count)}   ` });
    const { difference: _, ...told } = count;
    expect((await recovered(left)).model_access).toMatchObject(told);
    expect(policyIn(left.folder).violations).toContainEqual({
      class: 'network_violation',
      message:
        'A request used an endpoint of the model API that agents do not need; the model proxy refused it: POST /v1/files.',
      hard: false,
      source: 'door',
    });
  });

  test('takes its counts from its stream and its model proxy, and reports the rest as unknown', async () => {
    const left = torn(2, { diff: null }, { ...SAID, ...COUNTED });
    expect(await recovered(left)).toMatchObject({
      termination: 'error',
      reason: 'interrupted',
      ending: { how: 'lost' },
      agent: { session: 'the-session', model: 'claude-opus-5-5' },
      denials: 1,
      lines: { total: 5, unknown: 1, broken: 1, oversized: 0 },
      model_access: { requests: 3, failures: 1 },
      reported: { turns: null, input_tokens: null, output_tokens: null, cost_usd: null },
      usage: { cpu_ms: null, memory_peak_bytes: null, forks_denied: null },
      survivors: null,
      recovered: { unknown: ['ending', 'usage', 'streams', 'workspace'] },
    });
    const { violations, enforcement_notes } = policyIn(left.folder);
    expect(violations).toMatchObject([{ class: 'network_violation', message: 'WebFetch was denied: No network.' }]);
    expect(enforcement_notes.join()).toMatch(/Its changes are unknown/);
    expect(existsSync(path.join(left.folder, 'evidence/runner.json'))).toBe(false);
    expect(existsSync(path.join(left.folder, AGENT_FILES.diff))).toBe(false);
    expect(json(left.folder, 'evidence/steps/agent/runner_metadata.json')).toMatchObject({ exit_code: null });
    expect(endedAt(left.folder)).toBe(new Date(left.run.plan.startedAtMs + 500).toISOString());
  });

  test('without counted requests says that they are unknown', async () => {
    const { recovered: note } = await recovered(torn(2, { diff: null }, SAID));
    expect(note?.unknown).toEqual(['ending', 'usage', 'streams', 'requests', 'workspace']);
  });

  test('keeps the diff that the launcher saved', async () => {
    const left = torn(2, { diff: null }, { ...SAID, ...COUNTED, ...kept() });
    expect((await recovered(left)).recovered?.unknown).toEqual(['ending', 'usage', 'streams']);
    expect(readFileSync(path.join(left.folder, AGENT_FILES.diff), 'utf8')).toBe(DIFF);
    expect(json(left.folder, 'evidence/steps/agent/workspace_status.json')).toMatchObject({ changed: { total: 1 } });
  });

  test('ends as killed_policy if the saved diff violates the policy', async () => {
    const message = 'The agent changed src/generated/a.ts, which is forbidden.';
    const breach = { class: 'forbidden_path', message, path: 'src/generated/a.ts', hard: true } as const;
    const left = torn(2, { diff: null }, { ...SAID, ...COUNTED, ...kept({}, { breaches: [breach] }) });
    expect(await recovered(left)).toMatchObject({ termination: 'killed_policy', reason: 'forbidden_path' });
    expect(policyIn(left.folder).violations).toMatchObject([breach, { class: 'network_violation' }]);
  });

  test.each([
    ['invalid JSON', { [PARTS.workspace]: '{"changes":' }],
    ['no changes', { [PARTS.workspace]: '{"changes":{},"breaches":[],"notes":[],"holdsSecret":false}' }],
    ['a different diff', { [PARTS.diff]: 'diff --git a/x b/x\n' }],
    ['a status that violates its contract', kept({ gitFolder: 'eaten' as never })],
  ])('ignores saved files with %s', async (_, odd) => {
    const left = torn(2, { diff: null }, { ...SAID, ...COUNTED, ...kept(), ...odd });
    expect((await recovered(left)).recovered?.unknown).toContain('workspace');
    expect(existsSync(path.join(left.folder, AGENT_FILES.diff))).toBe(false);
  });

  test('that had ended keeps its ending, but does not count as completed', async () => {
    const left = torn(3, {}, { ...SAID, ...COUNTED });
    expect(await recovered(left)).toMatchObject({
      termination: 'error',
      reason: 'interrupted',
      ending: { how: 'exited', code: 0 },
      usage: { cpu_ms: 5_120 },
      recovered: { unknown: ['workspace'] },
    });
    // A partly written diff is not a diff.
    expect(existsSync(path.join(left.folder, AGENT_FILES.diff))).toBe(false);
    expect(json(left.folder, 'evidence/runner.json')).toMatchObject({ exit: { code: 0 } });
  });

  test('that was judged keeps everything, but does not count as completed, because a journal is not a seal', async () => {
    const left = torn(4);
    expect(await recovered(left)).toMatchObject({
      termination: 'error',
      reason: 'interrupted',
      denials: 0,
      model_access: { requests: 4 },
      reported: { turns: 4 },
      recovered: { unknown: [] },
    });
    expect(readFileSync(path.join(left.folder, AGENT_FILES.diff), 'utf8')).toBe(DIFF);
    expect(endedAt(left.folder)).toBe(new Date(left.run.completedAtMs).toISOString());
  });

  test('that was judged as failed keeps its reason', async () => {
    const judgement = { termination: 'error', reason: 'exit_nonzero', detail: 'It ended with exit code 1.' } as const;
    const left = torn(4, { judgement, ending: { how: 'exited', code: 1 } });
    expect(await recovered(left)).toMatchObject({ ...judgement, recovered: { unknown: [] } });
  });

  test('without its diff says that its changes are unknown', async () => {
    const left = torn(4, {}, { ...SAID, ...COUNTED });
    rmSync(path.join(left.folder, AGENT_FILES.diff));
    expect((await recovered(left)).recovered?.unknown).toEqual(['workspace']);
  });

  test.each([2, 4])('is recovered even if its recovery was interrupted, after %d lines', async whole => {
    const left = torn(whole, whole === 2 ? { diff: null } : {}, {
      ...(whole === 2 && { ...SAID, ...kept() }),
      ...COUNTED,
    });
    await recovered(left);
    rmSync(path.join(left.folder, SEAL));
    expect(await recovered(left)).toMatchObject({ termination: 'error', reason: 'interrupted' });
  });
});
