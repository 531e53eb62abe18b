import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../../../src/base/canonical.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import {
  agentOutcome,
  type AgentOutcome,
  policySummary,
  type PolicySummary,
} from '../../../src/contracts/agent-step/index.ts';
import type { AgentEvent } from '../../../src/contracts/agent-step/reading.ts';
import type { Ending } from '../../../src/contracts/ending.ts';
import { runner } from '../../../src/contracts/runner/index.ts';
import type { Runner } from '../../../src/contracts/runner/shape.ts';
import { workspaceStatus, type WorkspaceStatus } from '../../../src/contracts/workspace/index.ts';
import { AGENT_FILES, agentDocuments } from '../../../src/evidence/agent/agent-documents.ts';
import type { AgentJudgement, AgentPlan, AgentRun } from '../../../src/evidence/agent/agent-run.ts';
import type { Stored } from '../../../src/evidence/step/capture-note.ts';
import { finish } from '../../../src/evidence/run-folder/finish.ts';
import type { Ledger } from '../../../src/evidence/ledger/ledger.ts';
import { PASSING } from '../../../src/evidence/recovery/recovery-parts.ts';
import { storedFiles } from '../../../src/evidence/run-folder/sealed-files.ts';

export const AGENT_RUN = 'agent_20260403_101500_4f1c9a7be210';
const STARTED_AT = Date.UTC(2026, 3, 3, 10, 15);

/** What happened, and when. Each event comes from a separate native line. */
export type Happening = AgentEvent & { readonly atMs?: number };

/** What differs from a successful run. */
export interface Told {
  readonly task?: string;
  readonly events?: readonly Happening[];
  /** The final response, if there is one. */
  readonly finalText?: string | null;
  readonly diff?: string | null;
  readonly ending?: Ending;
  readonly policy?: Partial<PolicySummary>;
  readonly judgement?: Partial<AgentJudgement>;
  readonly plan?: Partial<AgentPlan>;
  readonly stderr?: string;
  readonly workspace?: Partial<WorkspaceStatus>;
}

export const DIFF = [
  'diff --git a/src/parse.ts b/src/parse.ts',
  'index 1111111..2222222 100644',
  '--- a/src/parse.ts',
  '+++ b/src/parse.ts',
  '@@ -1,2 +1,3 @@',
  ' export function parse() {',
  '+  // diff --git a/x b/x',
  '+  return 1;',
  '-}',
  'diff --git a/tests/parse.test.ts b/tests/parse.test.ts',
  'new file mode 100644',
  'index 0000000..3333333',
  '--- /dev/null',
  '+++ b/tests/parse.test.ts',
  '@@ -0,0 +1 @@',
  '+test();',
  '',
].join('\n');

export const text = (said: string): { readonly text: string } => ({ text: said });

/** Reads a file, writes another, runs the tests, and reports it. */
export const EVENTS: readonly Happening[] = [
  { kind: 'note', level: 'info', text: 'model claude-sonnet-4-5, mode dontAsk, 6 tools', atMs: 640 },
  { kind: 'message', role: 'assistant', body: text('I will look at the parser first.'), atMs: 2_100 },
  { kind: 'tool_call', call: 'a', tool: 'Read', input: text('{}'), path: '/work/src/parse.ts', atMs: 2_300 },
  { kind: 'tool_result', call: 'a', ok: true, output: text('…'), exit_code: null, atMs: 2_340 },
  { kind: 'tool_call', call: 'b', tool: 'Write', input: text('{}'), path: '/work/tests/parse.test.ts', atMs: 8_000 },
  { kind: 'tool_result', call: 'b', ok: true, output: text('ok'), exit_code: null, atMs: 8_050 },
  { kind: 'file_change', path: '/work/tests/parse.test.ts', change: 'add', atMs: 8_050 },
  { kind: 'tool_call', call: 'c', tool: 'Bash', input: text('{}'), command: text('npm test'), atMs: 12_000 },
  { kind: 'tool_result', call: 'c', ok: true, output: text('1 passed'), exit_code: 0, atMs: 61_000 },
  { kind: 'final', ok: true, body: text('I added a test for parse(), and all tests pass.'), atMs: 63_500 },
];

export function planOf({ task = 'Add a test for parse().\nKeep it short.', plan: changes }: Told = {}): AgentPlan {
  const { timing: _, exit: __, ...record } = structuredClone(runner.example) as Runner;
  const { enforcement, limits, observed, clocks } = structuredClone(agentOutcome.example) as AgentOutcome;
  const { requested } = policySummary.example as PolicySummary;
  return {
    request: { run_id: AGENT_RUN, kind: 'agent' },
    asked: {
      agent_family: 'claude_cli',
      rendered_task_text: task,
      working_directory: '.',
      prompt_reference: null,
      requested_policy: requested,
    },
    agent: { family: 'claude_cli', version: '2.1.325', sha256: bytesHash('claude'), untested: false },
    invocation: {
      mode: 'claude_print',
      command: ['claude', '--print', '--output-format', 'stream-json'],
      approval: 'bounded_auto_approve',
    },
    runner: record,
    enforcement,
    limits,
    observed,
    clocks,
    modelMode: 'live',
    policy: policyOf(),
    workspace: undefined,
    correlationId: '7hq2m4x0c9da',
    startedAtMs: STARTED_AT,
    owner: { pid: 1, startTicks: 1, bootId: 'boot' },
    ...changes,
  };
}

export function policyOf(changes: Partial<PolicySummary> = {}): PolicySummary {
  const example = structuredClone(policySummary.example) as PolicySummary;
  const { requested } = example;
  const effective = {
    execution_posture: 'workspace_write',
    network_posture: 'deny',
    approval_posture: 'bounded_auto_approve',
    allowed_paths: ['src', 'tests'],
    forbidden_paths: ['src/generated'],
    forbidden_operations: ['push'],
  } as const;
  return {
    ...example,
    requested,
    effective: structuredClone(effective) as unknown as PolicySummary['effective'],
    violations: [],
    ...changes,
  };
}

export function transcriptOf(events: readonly Happening[]): string {
  return events
    .map(({ atMs = 0, ...event }, index) => ({
      schema_version: 'transcript-line.v1',
      seq: index + 1,
      at_ms: atMs,
      native_line: index + 1,
      ...event,
    }))
    .map(line => `${canonicalize(line)}\n`)
    .join('');
}

/** The changes that the diff of this run contains. */
function statusOf(run_id: string, diff: string, { sha256, bytes }: Stored, changes?: Partial<WorkspaceStatus>): object {
  const listed = [...diff.matchAll(/^diff --git a\/(\S+) b\/.*\n(new file)?/gm)].map(([, file, isNew]) => ({
    path: file as string,
    change: isNew ? ('add' as const) : ('update' as const),
    bytes: 100,
    mode: '100644',
  }));
  const none = { total: 0, listed: [] };
  const status = {
    ...(structuredClone(workspaceStatus.example) as WorkspaceStatus),
    run_id,
    diff: { path: AGENT_FILES.diff, sha256, bytes, cut: null },
    changed: { total: listed.length, listed },
    ignored: { total: 0, bytes: 0, listed: [] },
    commits: none,
    refs: none,
    ...changes,
  };
  // Removes undefined values.
  return JSON.parse(JSON.stringify(status)) as object;
}

/** Everything such a run produces, before it is written. */
export function agentRun(told: Told): { readonly run: AgentRun; readonly files: Record<string, string> } {
  const { events = EVENTS, diff = DIFF, ending = { how: 'exited', code: 0 }, stderr = '' } = told;
  const plan = planOf(told);
  const { run_id } = plan.request;
  const last = events.findLast(event => event.kind === 'final');
  const finalText = told.finalText === undefined ? (last?.kind === 'final' && last.body?.text) || null : told.finalText;
  const files: Record<string, string> = {
    [AGENT_FILES.transcript]: transcriptOf(events),
    [AGENT_FILES.stdout]: events.map(() => '{"type":"x"}\n').join(''),
    [AGENT_FILES.stderr]: stderr,
    ...(diff === null ? {} : { [AGENT_FILES.diff]: diff }),
  };
  const stored = (file: string): Stored => {
    const content = files[file] ?? '';
    return { sha256: bytesHash(content), bytes: Buffer.byteLength(content) };
  };
  const note = (file: string) => {
    const { sha256, bytes } = stored(file);
    return { bytesTotal: bytes, sha256: sha256 as `sha256:${string}`, bytesKept: bytes, masked: 0 };
  };
  const tookMs = (events.at(-1)?.atMs ?? 1_000) + 1_500;
  const run: AgentRun = {
    plan,
    capture: {
      ending,
      phases: [{ name: 'execute', startedAtMs: STARTED_AT + 500, durationMs: tookMs - 500 }],
      stdout: note(AGENT_FILES.stdout),
      stderr: note(AGENT_FILES.stderr),
      cpuMs: 5_120,
      memoryPeakBytes: 412_000_000,
    },
    judgement: {
      termination: 'completed',
      reason: 'ok',
      detail: null,
      apiStatus: null,
      finalText,
      session: '0b0e1f44-8a4e-4b52-9c59-6d2c7a6f3a10',
      model: 'claude-sonnet-4-5',
      reported: { turns: 4, input_tokens: 18_211, cached_input_tokens: 12_004, output_tokens: 913, cost_usd: 0.0421 },
      lines: { total: events.length, unknown: 0, broken: 0, oversized: 0 },
      events: events.length,
      denials: events.filter(({ kind }) => kind === 'denial').length,
      modelAccess: { mode: 'live', requests: 4, failures: 0, recording_sha256: null, difference: null },
      policy: policyOf(told.policy),
      workspaceStatus: diff === null ? null : statusOf(run_id, diff, stored(AGENT_FILES.diff), told.workspace),
      workspace: undefined,
      files: {
        transcript: stored(AGENT_FILES.transcript),
        stdout: stored(AGENT_FILES.stdout),
        stderr: stored(AGENT_FILES.stderr),
        diff: diff === null ? null : stored(AGENT_FILES.diff),
      },
      warnings: [],
      remarks: [],
      ...told.judgement,
    },
    completedAtMs: STARTED_AT + tookMs,
  };
  return { run, files };
}

/** Every file of such a run except the seal. */
export function agentFiles(told: Told = {}): Record<string, string> {
  const { run, files } = agentRun(told);
  const documents = agentDocuments(run).map(([file, bytes]) => [file, String(bytes)] as const);
  return { ...files, ...Object.fromEntries(documents) };
}

/** A sealed agent run folder below `root/runs`. */
export async function agentFolder(root: string, told: Told = {}, ledger?: Ledger): Promise<string> {
  const { run, files } = agentRun(told);
  const { run_id: runId } = run.plan.request;
  const folder = path.join(root, 'runs', 'agent', runId);
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), content);
  }
  await finish(folder, {
    runId,
    kind: 'agent',
    documents: agentDocuments(run),
    stored: storedFiles([]),
    passing: PASSING,
    sealedAtMs: run.completedAtMs,
    signer: undefined,
    ledger,
  });
  return folder;
}
