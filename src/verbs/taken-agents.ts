import { canonicalize } from '../base/canonical.ts';
import { Fault } from '../base/fault.ts';
import { Masker, maskingOf } from '../base/masker.ts';
import {
  agentOutcome,
  type AgentOutcome,
  agentRequest,
  type AgentRequest,
  policySummary,
  type PolicySummary,
  runnerMetadata,
  type RunnerMetadata,
} from '../contracts/agent-step/index.ts';
import { checkResult, type CheckResult } from '../contracts/check-result/index.ts';
import type { LimitName } from '../contracts/script-outcome/claims.ts';
import type { SuiteCase, SuiteTarget } from '../contracts/suite/index.ts';
import { STEP_FILES } from '../evidence/agent/agent-documents.ts';
import { checkResultFile, type PlannedCheck } from '../evidence/agent/check-steps.ts';
import type { Offer } from '../policy/effective-limits.ts';
import { type Bound, boundFor, clocksOf, turnLimitOf } from '../run/agent/bound.ts';
import { budgetOf } from '../run/agent/model.ts';
import { readyChecks } from '../run/checks/order.ts';
import { plannedCheck } from '../run/checks/run-checks.ts';
import { checkAgentOrder } from '../run/agent/order.ts';
import { agentAnswer, type AgentAnswerReader } from '../run/suite/agent-answer.ts';
import { caseTask } from '../run/suite/agent-target.ts';
import { caseOrder, type SuiteAgentOrder } from '../run/suite/case-order.ts';
import type { AskedAttempt } from '../run/suite/reported-attempt.ts';
import { type ReadPacked, type SentKind, soundPacked } from './taken-runs.ts';

/** The agent that a conductor asked for. */
export interface AskedAgent {
  readonly target: Extract<SuiteTarget, { kind: 'agent' }>;
  readonly order: SuiteAgentOrder;
  readonly casesDir: string;
  readonly commit: string;
  readonly offers: readonly Offer[];
}

/** How a conductor takes over the runs of an agent. */
export function sentAgents(described: AskedAgent, reader: AgentAnswerReader): SentKind {
  const asked = { ...described, adapter: checkAgentOrder({ ...described.order, task: 'any' }) };
  return {
    kind: 'agent',
    idForm: /^agent_\d{8}_\d{6}_[0-9a-f]{12}$/,
    filesMax: FILES_MAX,
    fault: (read, { one }) => otherRun(read, one, asked),
    async answer(folder, { one }: AskedAttempt) {
      const read = await agentAnswer(folder, one, reader);
      if (!read) return 'its run has no outcome';
      return !read.outcome.ok && read.outcome.cancelled ? 'its run was cancelled' : read;
    },
  };
}

/** An agent leaves about 20 files, and each of at most 20 checks fewer than 10. */
const FILES_MAX = 300;

type CheckedAgent = AskedAgent & { readonly adapter: ReturnType<typeof checkAgentOrder> };

interface SentDocuments {
  readonly request: AgentRequest;
  readonly outcome: AgentOutcome;
  readonly policy: PolicySummary;
  readonly metadata: RunnerMetadata;
}

/** Why the run is not the one that was asked for. */
function otherRun(read: ReadPacked, one: SuiteCase, asked: CheckedAgent): string | undefined {
  const sent = documentsIn(read);
  if (!sent) return 'its run has no request, outcome, policy or metadata';
  const { target, adapter, commit } = asked;
  const { request, outcome } = sent;
  const { family, version, sha256 } = outcome.agent;
  if (family !== adapter.family || request.agent_family !== family) return 'its run is that of another agent';
  if (version !== target.version || sha256 !== target.sha256) return 'its run is that of another version of the agent';
  if (request.rendered_task_text !== masked(caseTask(one))) return 'its run had another task';
  const { base } = outcome;
  const isSameTree =
    base?.kind === 'bundle' && base.commit === commit && base.base_commit === commit && !base.files && !base.setup;
  if (!isSameTree) return 'its run started from another tree';
  return otherBounds(sent, one, asked) ?? otherChecks(read, sent, one, asked) ?? otherWay(sent, one, asked);
}

/** What a worker stores of a text of the suite. It contains no secret, but perhaps a well-known credential. */
function masked(text: string): string {
  return new Masker(maskingOf([])).text(text);
}

function documentsIn(read: ReadPacked): SentDocuments | undefined {
  const request = soundPacked(read, 'evidence/request.json', agentRequest) as AgentRequest | undefined;
  const outcome = soundPacked(read, 'evidence/outcome.json', agentOutcome) as AgentOutcome | undefined;
  const policy = soundPacked(read, STEP_FILES.policy, policySummary) as PolicySummary | undefined;
  const metadata = soundPacked(read, STEP_FILES.metadata, runnerMetadata) as RunnerMetadata | undefined;
  return request && outcome && policy && metadata && { request, outcome, policy, metadata };
}

/** Compares the policy and the limits with those that this machine would apply. */
function otherBounds(
  { request, outcome, policy }: SentDocuments,
  one: SuiteCase,
  asked: CheckedAgent,
): string | undefined {
  const bound = boundOf(one, asked);
  if (!bound) return 'its case asks for limits that the policy does not allow';
  const isSamePolicy =
    isSame(request.requested_policy, bound.requested) &&
    isSame(policy.requested, bound.requested) &&
    isSame(policy.effective, bound.effective);
  if (!isSamePolicy) return 'its run had another policy';
  const { memoryBytes, pids, cpuSeconds } = bound.limits;
  const claimed = (name: LimitName): number | null | undefined =>
    outcome.enforcement.claims?.find(({ limit }) => limit === name)?.value;
  const isSameLimits =
    isSame(outcome.clocks, clocksOf(bound)) &&
    isSame(outcome.turn_limit ?? null, turnLimitOf(bound, asked.adapter).turnLimit ?? null) &&
    isSame(outcome.model_access.budget ?? null, budgetOf(bound.limits)) &&
    (memoryBytes === undefined || claimed('memory_bytes') === memoryBytes) &&
    (pids === undefined || claimed('processes') === pids) &&
    (cpuSeconds === undefined || claimed('cpu_seconds') === cpuSeconds);
  return isSameLimits ? undefined : 'its run had other limits';
}

function boundOf(one: SuiteCase, { adapter, order, casesDir, offers }: CheckedAgent): Bound | undefined {
  try {
    return boundFor({ ...caseOrder(order, one, casesDir), task: '' }, adapter, offers);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** Compares the checks with those that this machine would run. */
function otherChecks(
  read: ReadPacked,
  { request }: SentDocuments,
  one: SuiteCase,
  { order, casesDir, offers, target }: CheckedAgent,
): string | undefined {
  const { checks = [], cwd } = caseOrder(order, one, casesDir);
  const asked = readyChecks(checks, cwd, offers).map(check => plannedCheck(check, masked));
  const isSameList = isSame(
    request.checks ?? [],
    asked.map(({ name }) => name),
  );
  const isSameCheck = (check: PlannedCheck): boolean => {
    const { name, sandbox: _, report, ...planned } = check;
    const result = soundPacked(read, checkResultFile(name), checkResult) as CheckResult | undefined;
    if (!result) return false;
    const { command, limits, overlay, paths, keep } = result;
    return (
      isSame({ command, limits, overlay, paths, ...(keep && { keep }) }, planned) &&
      result.report?.path === report?.path &&
      result.sandbox.network_blocked &&
      (target.isolation !== 'strict' || result.sandbox.isolation_level === 'strict')
    );
  };
  return isSameList && asked.every(isSameCheck) ? undefined : 'its run had other checks';
}

/** Compares how the agent ran, besides its limits. */
function otherWay(
  { request, outcome, metadata }: SentDocuments,
  one: SuiteCase,
  { target, order, casesDir }: CheckedAgent,
): string | undefined {
  const { model } = caseOrder(order, one, casesDir);
  if (model !== undefined && !metadata.command.includes(model)) return 'its run asked another model';
  if (outcome.model_access.mode !== 'live') return 'its run asked no live model';
  const isPlain =
    request.working_directory === 'work' &&
    request.prompt_reference === null &&
    request.attempt === undefined &&
    outcome.mounts === undefined &&
    outcome.recovered === undefined;
  if (!isPlain) return 'its run had other folders or references';
  const { kill, memory, seccomp } = outcome.enforcement;
  const isStrict = memory.startsWith('cgroup_') && seccomp;
  const isWeaker = kill !== 'pid_namespace' || (target.isolation === 'strict' && !isStrict);
  return isWeaker ? 'its run was less isolated than the suite requires' : undefined;
}

function isSame(a: object | null, b: object | null): boolean {
  return canonicalize(a) === canonicalize(b);
}
