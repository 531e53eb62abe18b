import { readReply, type SideName } from '../../targets/reply.ts';
import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { addedKinds, Masker, maskingOf } from '../../base/masker.ts';
import { printable } from '../../base/printable.ts';
import { NOT_OF_THE_AGENT, type Reason } from '../../contracts/agent-step/reading.ts';
import { isObject } from '../../contracts/kind.ts';
import type { Signer } from '../../contracts/seal/signature.ts';
import type { SuiteCase, SuiteTarget } from '../../contracts/suite/index.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import type { Effective } from '../../policy/effective-limits.ts';
import { type AgentAnswer, type AgentContext, executeAgent } from '../agent/agent.ts';
import { boundFor } from '../agent/bound.ts';
import { modelFor } from '../agent/model.ts';
import { checkAgentOrder } from '../agent/order.ts';
import { programFor } from '../agent/program.ts';
import { readAgentPolicy } from '../agent/read-policy.ts';
import { offersOf } from '../pipeline/runner-plan.ts';
import { FailedSetups } from '../setup/failed-setups.ts';
import { type CaseSetups, type DescribedWork, describeWork } from './agent-work.ts';
import { AgentEvents } from './agent-events.ts';
import { agentRunNote, type RunFlag } from './agent-note.ts';
import { askedNote } from './agent-asked.ts';
import { caseOrder, type SuiteAgentOrder } from './case-order.ts';
import { type Recordings, recordingFor } from './recordings.ts';
import type { SuiteSettings } from './settings.ts';
import { CANCELLED, type FailedAttempt, type CaseQuestion, type Target, type AttemptResult } from './target.ts';

/** An agent, and everything its attempts share. */
export interface CliAgent {
  readonly order: SuiteAgentOrder;
  /** The folder that paths in cases start from. */
  readonly casesDir: string;
  readonly recordings: Recordings | undefined;
  readonly repetition: number;
  readonly side: SideName;
  readonly launcher: () => Promise<Launcher>;
  readonly home: string;
  readonly signer: Signer | undefined;
  readonly settings: SuiteSettings;
  /** Compares what the agent says with what it did, given the folder of its sealed run. */
  readonly claimsIn: (folder: string) => Promise<readonly RunFlag[]>;
}

/** Runs the agent's command line. Every attempt is a separate run on a separate clone. */
export function agentTarget(agent: CliAgent): Target {
  const failedSetups = new FailedSetups();
  return {
    async ask({ one, attempt, signal, onRun }: CaseQuestion): Promise<AttemptResult> {
      const events = new AgentEvents(agent.settings.bodyBytesMax / 2);
      const { recordings, repetition } = agent;
      const named = { caseId: one.id, repetition, attempt };
      const startedAtMs = systemClock.now();
      try {
        const order = caseOrder(agent.order, one, agent.casesDir);
        const answer = await executeAgent(
          { ...order, task: taskOf(one), ...(recordings && { recording: recordingFor(recordings, named) }) },
          {
            launcher: await agent.launcher(),
            home: agent.home,
            signer: agent.signer,
            signal,
            onEvent: line => events.take(line),
            onFolder: ({ id }) => onRun?.(id),
            failedSetups,
          },
        );
        const { plan, judgement, completedAtMs } = answer.run;
        const claims = await agent.claimsIn(answer.place.folder);
        return {
          latencyMs: completedAtMs - plan.startedAtMs,
          runId: answer.place.id,
          agentRun: agentRunNote(answer, claims, text => maskerOf(agent).text(text)),
          ran: answer.run.capture.phases.find(({ name }) => name === 'execute'),
          outcome: judged(answer, one, events, agent),
          ...(isStatus(judgement.apiStatus) && { httpStatus: judgement.apiStatus }),
        };
      } catch (error) {
        if (signal.aborted) return { latencyMs: 0, outcome: CANCELLED };
        if (error instanceof Fault && FAULTS_OF_A_CASE.has(error.code))
          return { latencyMs: Math.max(systemClock.now() - startedAtMs, 0), outcome: notStarted(error) };
        throw error;
      }
    },
    // Nothing to do: each attempt observes its own abort signal.
    cancel: () => undefined,
    close: async () => undefined,
  };
}

/** A task, setup or repository that Proctor cannot use makes its case an error. The other cases go on. */
const FAULTS_OF_A_CASE: ReadonlySet<string> = new Set(['usage', 'setup_failed', 'clone_failed']);

/** The agent did not run, so there is no note about it, and the case is not its failure. */
function notStarted({ code, message }: Fault): FailedAttempt {
  const [sentence = '', ...lines] = message.split('\n').map(line => line.trim());
  const whole = [sentence, lines.slice(-LINES_KEPT).join(' | ')].join(' ').trim();
  return {
    ok: false,
    class: 'other',
    message: printable(clip(whole, MESSAGE_BYTES_MAX).text),
    ...(code !== 'usage' && { errorName: code.toUpperCase() }),
    mayRetry: false,
  };
}

const LINES_KEPT = 3;

function taskOf({ input }: SuiteCase): string {
  if (input.context === undefined) return input.user;
  return `${input.user}\n\nThis goes with it, as JSON:\n${canonicalize(input.context)}`;
}

function maskerOf({ order }: CliAgent): Masker {
  return new Masker(maskingOf(Object.values(order.secrets ?? {}), order.keepCredentials));
}

function judged(
  { run }: AgentAnswer,
  { id, expected }: SuiteCase,
  events: AgentEvents,
  agent: CliAgent,
): AttemptResult['outcome'] {
  const { termination, reason, finalText, reported, model } = run.judgement;
  if (reason === 'cancelled') return CANCELLED;
  const said = Buffer.from(finalText ?? '');
  const body = { bytes: said, bytesTotal: said.length, truncated: false, contentType: null, headers: {} };
  const failed = (failure: Omit<FailedAttempt, 'ok' | 'body'>): FailedAttempt => ({
    ...failure,
    ok: false,
    ...(said.length > 0 && said.length <= agent.settings.bodyBytesMax && { body }),
  });
  const failure = failureOf(run.judgement);
  // A case can expect an unsuccessful ending, but not a model outage.
  const isItsOwn = termination !== 'error' || (failure.class === 'other' && !NOT_OF_THE_AGENT.has(reason));
  const isExpected = termination === expected?.termination && isItsOwn;
  if (termination !== 'completed' && !isExpected) return failed(failure);
  const masker = maskerOf(agent);
  const raw = Buffer.from(
    JSON.stringify({
      ...(replyIn(said) ?? { final_output: { content_type: 'text', content: finalText ?? '' } }),
      events: events.list,
      usage: reported,
      ...(model !== null && { model }),
      ...(events.leftOut > 0 && { events_left_out: events.leftOut }),
    }),
  );
  const bytes = masker.whole(raw);
  const masked = addedKinds(masker.kinds, run.capture.stdout.kinds);
  const answer = readReply(bytes, agent.settings.bodyBytesMax, { caseId: id, side: agent.side, isLenient: false });
  return answer.ok ? { ...answer, masked, bytes: bytes.length } : failed({ ...answer, mayRetry: false });
}

/**
 * Parses a final text that is a reply in the HTTP agent format; undefined if it is not. Proctor still fills in the
 * events and the usage.
 */
function replyIn(said: Buffer): object | undefined {
  const reading = readJson(said, { bytesMax: said.length });
  return reading.ok && isObject(reading.value) && Object.hasOwn(reading.value, 'final_output')
    ? reading.value
    : undefined;
}

/** Agents can report any number as a status. */
function isStatus(status: number | null): status is number {
  return status !== null && Number.isInteger(status) && status >= 100 && status <= 999;
}

function failureOf({ reason, detail, apiStatus: status }: AgentAnswer['run']['judgement']): Omit<FailedAttempt, 'ok'> {
  const isAnswered = isStatus(status);
  const errorClass = isAnswered ? 'http_error' : (CLASSES[reason] ?? 'other');
  const mayRetry = isAnswered ? [408, 425, 429].includes(status) || status >= 500 : RETRIED.has(errorClass);
  return {
    class: errorClass,
    message: printable(clip(detail ?? 'The agent did not finish its work.', MESSAGE_BYTES_MAX).text),
    errorName: reason.toUpperCase(),
    mayRetry,
  };
}

const MESSAGE_BYTES_MAX = 1_000;

const CLASSES: Readonly<Partial<Record<Reason, FailedAttempt['class']>>> = {
  api_error: 'network_error',
  wall_clock: 'timeout',
  stalled: 'timeout',
  incomplete_stream: 'schema_mismatch',
  protocol_error: 'schema_mismatch',
  schema_missing: 'schema_mismatch',
};

const RETRIED: ReadonlySet<FailedAttempt['class']> = new Set(['timeout', 'network_error']);

/** Describes the agent, its limits and the work of the cases. Throws if this machine cannot run one of them. */
export async function namedAgent(
  order: SuiteAgentOrder,
  cases: CaseSetups,
  around: AgentContext,
): Promise<{ readonly target: SuiteTarget; readonly effective: Effective } & Pick<DescribedWork, 'commits'>> {
  const { modelMode = 'live' } = order;
  const whole = { ...order, task: 'any', ...(modelMode !== 'live' && { recording: 'any' }) };
  const adapter = checkAgentOrder(whole);
  const { bounds } = boundFor(whole, adapter, offersOf(await around.launcher.machine()));
  // A recording that cannot be replayed fails its case, not the suite.
  if (modelMode !== 'replay') modelFor(whole, adapter);
  const policy = readAgentPolicy(order.policy, order.cwd);
  const { version, sha256 } = await programFor(whole, adapter, around);
  const { sandbox, isolation } = bounds;
  const { work, commits } = await describeWork(order, cases, around);
  return {
    target: {
      kind: 'agent',
      name: adapter.agent,
      version,
      sha256,
      policy: policy.name,
      policy_sha256: policy.sha256,
      sandbox,
      isolation,
      ...askedNote(order),
      ...(work && { work }),
    },
    // The model is reached through a proxy, so bytes leave the sandbox.
    effective: { ...bounds, network: 'open' },
    commits,
  };
}
