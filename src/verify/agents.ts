import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { counted } from '../base/counted.ts';
import type {
  AgentOutcome,
  AgentRequest,
  AgentResult,
  Metadata,
  PolicySummary,
  RunnerMetadata,
  Status,
  StepManifest,
} from '../contracts/agent-step/index.ts';
import type { TranscriptLine } from '../contracts/agent-step/reading.ts';
import type { CheckResult } from '../contracts/check-result/index.ts';
import { inside } from '../contracts/agent-step/paths.ts';
import type { Role } from '../contracts/agent-step/words.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import type { WorkspaceStatus } from '../contracts/workspace/index.ts';
import { AGENT_FILES, hasOwnCode } from '../evidence/agent/agent-documents.ts';
import { exitOf } from '../evidence/step/endings.ts';
import { checkDisagreements, type RunChecks } from './agent-checks.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import type { FolderDocument, Inspector, Surroundings } from './inspector.ts';
import { CHANGED_STREAM, changedStreams } from './streams.ts';
import { above } from './walk.ts';

interface Written<Value> {
  readonly file: string;
  readonly value: Value;
}

/** The documents of one agent run, by contract. */
interface Run {
  'agent-result'?: Written<AgentResult>;
  'agent-request'?: Written<AgentRequest>;
  'agent-outcome'?: Written<AgentOutcome>;
  runner?: Written<Runner>;
  'runner-metadata'?: Written<RunnerMetadata>;
  'policy-summary'?: Written<PolicySummary>;
  'step-manifest'?: Written<StepManifest>;
  'workspace-status'?: Written<WorkspaceStatus>;
  metadata?: Written<Metadata>;
  status?: Written<Status>;
}

/** How many levels above a document its run folder is. */
const LIES: Readonly<Record<keyof Run, number>> = {
  'agent-result': 0,
  'agent-request': 1,
  'agent-outcome': 1,
  runner: 1,
  'runner-metadata': 3,
  'policy-summary': 3,
  'step-manifest': 3,
  'workspace-status': 3,
  metadata: 1,
  status: 1,
};

/** The length of a transcript, and its first line that is out of order. */
interface Transcript {
  lines: number;
  nativeLine: number;
  violation?: { readonly place: string; readonly at: string; readonly message: string };
}

/** FD12: all documents of an agent run must agree. */
export function agentInspector(surroundings: Surroundings): Inspector {
  const { tree, troubled, report } = surroundings;
  const runs = new Map<string, Run>();
  const transcripts = new Map<string, Transcript>();
  const checks = new Map<string, RunChecks>();
  const breaks = (file: string, at: string | undefined, message: string): void =>
    report({ rule: FOLDER_RULES.FD12.id, level: 'must', file, message, ...(at !== undefined && { at }) });

  function judge(folder: string, run: Run, outcome: Written<AgentOutcome>): void {
    for (const [file, at, message] of disagreements(run, outcome)) breaks(file, at, message);
    const told = { folder, runId: outcome.value.run_id, request: run['agent-request'] };
    const found = checks.get(folder) ?? { results: new Map(), manifests: new Map() };
    for (const [file, at, message] of checkDisagreements(found, told, surroundings)) breaks(file, at, message);
    const streamOf = (name: 'stdout' | 'stderr'): string => path.posix.join(folder, AGENT_FILES[name]);
    for (const file of changedStreams(outcome.value.streams, streamOf, surroundings))
      breaks(file, undefined, CHANGED_STREAM);
    const listed = run['step-manifest'] && pathOf(run['step-manifest'].value, 'runner_transcript');
    const file = listed === undefined ? undefined : path.posix.join(folder, listed);
    if (file === undefined || !tree.files.has(file) || troubled.has(file)) return;
    const { lines, nativeLine, violation } = transcripts.get(file) ?? { lines: 0, nativeLine: 0 };
    if (violation) breaks(violation.place, violation.at, violation.message);
    else if (lines !== outcome.value.events)
      breaks(outcome.file, 'events', `does not match the transcript, which has ${counted(lines, 'line')}`);
    if (nativeLine > outcome.value.lines.total)
      breaks(outcome.file, 'lines.total', 'is less than the highest native_line of the transcript');
  }

  return {
    take(document) {
      const { file, contract, value } = document;
      if (contract.name === 'transcript-line') return follow(transcripts, document);
      const kind = contract.name as keyof Run;
      const folder = Object.hasOwn(LIES, kind) ? above(file, LIES[kind]) : undefined;
      if (contract.name === 'check-result' || (kind === 'step-manifest' && !isOfAgent(value as StepManifest))) {
        takeCheck(checks, document);
        return;
      }
      if (folder === undefined) return;
      const run = runs.get(folder) ?? {};
      runs.set(folder, run);
      Object.assign(run, { [kind]: { file, value } });
    },

    end() {
      for (const [folder, run] of runs) if (run['agent-outcome']) judge(folder, run, run['agent-outcome']);
    },
  };
}

/** Stores a document of a check by its run folder and its step. */
function takeCheck(checks: Map<string, RunChecks>, { file, contract, value }: FolderDocument): void {
  const folder = above(file, 3);
  if (folder === undefined) return;
  const found: RunChecks = checks.get(folder) ?? { results: new Map(), manifests: new Map() };
  checks.set(folder, found);
  const step = path.posix.basename(path.posix.dirname(file));
  if (contract.name === 'check-result') found.results.set(step, { file, value: value as CheckResult });
  else found.manifests.set(step, { file, value: value as StepManifest });
}

/** Checks have manifests of their own. */
function isOfAgent({ opcode }: StepManifest): boolean {
  return opcode === 'RUN_AGENT';
}

function follow(transcripts: Map<string, Transcript>, { file, place, value }: FolderDocument): void {
  const { seq, native_line } = value as TranscriptLine;
  const transcript = transcripts.get(file) ?? { lines: 0, nativeLine: 0 };
  transcripts.set(file, transcript);
  transcript.lines++;
  if (seq !== transcript.lines)
    transcript.violation ??= {
      place,
      at: 'seq',
      message: `must be ${transcript.lines}, because lines are numbered from 1`,
    };
  if (native_line < transcript.nativeLine)
    transcript.violation ??= { place, at: 'native_line', message: 'is less than in the previous line' };
  transcript.nativeLine = Math.max(transcript.nativeLine, native_line);
}

function pathOf({ artifacts }: StepManifest, role: Role): string | undefined {
  return artifacts.find(artifact => artifact.role === role)?.path;
}

type Disagreement = readonly [file: string, at: string, message: string];

function* disagreements(run: Run, outcome: Written<AgentOutcome>): Generator<Disagreement> {
  const { termination, reason, agent, ending } = outcome.value;
  const known = { 'agent-result': run['agent-result'], 'runner-metadata': run['runner-metadata'] };
  const ended = { ...known, 'step-manifest': run['step-manifest'], metadata: run.metadata, status: run.status };
  for (const written of Object.values(ended)) {
    if (written && written.value.termination !== termination) yield [written.file, 'termination', UNLIKE];
  }
  for (const written of Object.values(known)) {
    if (written?.value.reason !== undefined && written.value.reason !== reason) yield [written.file, 'reason', UNLIKE];
  }
  const { 'agent-request': request, 'runner-metadata': metadata, runner } = run;
  if (request && request.value.agent_family !== agent.family) yield [request.file, 'agent_family', UNLIKE];
  if (metadata) yield* unlikeMetadata(metadata, outcome.value);
  if (request && run.metadata && !isSame(request.value.attempt, run.metadata.value.attempt))
    yield [run.metadata.file, 'attempt', 'differs from the request'];
  if (runner && canonicalize(exitOf(ending)) !== canonicalize(runner.value.exit))
    yield [outcome.file, 'ending', 'differs from the exit in runner.json'];
  yield* misplaced(run);
  const { 'workspace-status': workspace } = run;
  if (workspace && workspace.value.run_id !== outcome.value.run_id) yield [workspace.file, 'run_id', UNLIKE];
  const { 'policy-summary': policy } = run;
  if (policy && metadata && policy.value.effective.approval_posture !== metadata.value.approval_posture)
    yield [metadata.file, 'approval_posture', 'differs from the effective policy in the policy summary'];
  if (policy) yield* unpunished(policy, outcome.value);
  if (policy && workspace) yield* untold(policy, workspace.value);
  if (policy) yield* unlikePolicy(policy, run);
}

function isSame(one: unknown, other: unknown): boolean {
  return canonicalize(one ?? null) === canonicalize(other ?? null);
}

const UNLIKE = 'differs from the outcome';

function* unlikeMetadata({ file, value }: Written<RunnerMetadata>, outcome: AgentOutcome): Generator<Disagreement> {
  const { agent, ending } = outcome;
  const same = {
    agent_family: agent.family,
    agent_version: agent.version,
    untested_version: agent.untested,
    program_sha256: agent.sha256,
    session_id: agent.session ?? undefined,
    model: agent.model ?? undefined,
  };
  for (const [key, told] of Object.entries(same)) {
    const here = value[key as keyof typeof same];
    if (here !== undefined && here !== told) yield [file, key, UNLIKE];
  }
  // Older records have the program's own code if only a child ran out of memory.
  const codes: unknown[] = hasOwnCode(outcome.termination, ending) ? [exitOf(ending).code] : [null];
  if (ending.how === 'out_of_memory') codes.push(ending.code);
  if (!codes.includes(value.exit_code)) yield [file, 'exit_code', 'does not match the ending in the outcome'];
}

function* misplaced(run: Run): Generator<Disagreement> {
  const { 'agent-result': result, 'step-manifest': manifest, 'workspace-status': workspace } = run;
  if (manifest && workspace && pathOf(manifest.value, 'workspace_diff') !== workspace.value.diff.path)
    yield [workspace.file, 'diff.path', 'differs from the path of workspace_diff in the manifest'];
  if (!result || !manifest) return;
  for (const [key, role] of [
    ['transcript_path', 'runner_transcript'],
    ['final_response_path', 'runner_final_response'],
  ] as const) {
    if (result.value[key] !== (pathOf(manifest.value, role) ?? null))
      yield [result.file, key, `differs from the path of ${role} in the manifest`];
  }
}

/** Compares hard violations with the termination. After a denial, a time limit may have ended the agent first. */
function* unpunished({ file, value }: Written<PolicySummary>, outcome: AgentOutcome): Generator<Disagreement> {
  const { termination, reason } = outcome;
  const hard = new Set(value.violations.flatMap(violation => (violation.hard ? [violation.class] : [])));
  const wanted: readonly string[] = CLASSES[reason] ?? [];
  if (termination === 'killed_policy' && ![...hard].some(kind => wanted.includes(kind)))
    yield [file, 'violations', `do not contain a hard violation that explains the reason ${reason}`];
  const mustKill = [...hard].some(kind => FOUND_AFTERWARDS.has(kind));
  if (mustKill && termination !== 'killed_policy')
    yield [file, 'violations', 'contain a hard violation that requires the termination killed_policy'];
  else if (hard.size > 0 && termination === 'completed')
    yield [file, 'violations', 'contain a hard violation, although the step completed'];
}

/** Every breach of the policy that the work tree status shows must be listed as a violation. */
function* untold({ file, value }: Written<PolicySummary>, status: WorkspaceStatus): Generator<Disagreement> {
  const told = new Set(value.violations.map(violation => violation.class));
  if (status.refs.listed.some(ref => ref.protected) && !told.has('protected_branch_violation'))
    yield [file, 'violations', 'do not list the change to a protected branch'];
  const { execution_posture, allowed_paths, forbidden_paths } = value.effective;
  const isAllowed = execution_posture === 'read_only' ? () => false : inside(allowed_paths);
  const isForbidden = inside(forbidden_paths);
  const against = status.changed.listed.find(({ path: at }) => isForbidden(at) || !isAllowed(at));
  if (against && !told.has('forbidden_path'))
    yield [file, 'violations', 'do not list the change to a path that the policy does not allow'];
}

/** Compares the policy with the request and with the sandbox in the runner record. */
function* unlikePolicy({ file, value }: Written<PolicySummary>, run: Run): Generator<Disagreement> {
  const { 'agent-request': request, runner } = run;
  if (request && canonicalize(request.value.requested_policy) !== canonicalize(value.requested))
    yield [file, 'requested', 'differs from the policy in the request'];
  const { execution_posture, network_posture } = value.effective;
  if (runner && execution_posture === 'read_only' && (runner.value.write_roots?.length ?? 0) > 0)
    yield [runner.file, 'write_roots', 'must be empty, because the effective policy is read-only'];
  if (runner && network_posture === 'allow' && runner.value.sandbox.network_blocked)
    yield [runner.file, 'sandbox.network_blocked', 'must be false, because the effective policy allows network access'];
}

/** The violation classes that explain each killed_policy reason. */
const CLASSES: Readonly<
  Partial<Record<AgentOutcome['reason'], readonly PolicySummary['violations'][number]['class'][]>>
> = {
  denied_tool: ['native_policy_block', 'network_violation'],
  prompt_detected: ['interactive_prompt_violation'],
  forbidden_path: ['forbidden_path'],
  forbidden_operation: ['forbidden_operation'],
  protected_branch: ['protected_branch_violation'],
};

/** Violations found after the agent has ended take precedence over any other termination. */
const FOUND_AFTERWARDS: ReadonlySet<string> = new Set([
  'forbidden_path',
  'forbidden_operation',
  'protected_branch_violation',
]);
