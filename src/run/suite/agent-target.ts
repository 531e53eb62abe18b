import type { SideName } from '../../targets/reply.ts';
import { canonicalize } from '../../base/canonical.ts';
import { clip } from '../../base/clip.ts';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import type { Signer } from '../../contracts/seal/signature.ts';
import type { SuiteCase, SuiteTarget } from '../../contracts/suite/index.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import type { Effective } from '../../policy/effective-limits.ts';
import { type AgentContext, executeAgent } from '../agent/agent.ts';
import { boundFor } from '../agent/bound.ts';
import { modelFor } from '../agent/model.ts';
import { checkAgentOrder } from '../agent/order.ts';
import { programFor } from '../agent/program.ts';
import { readAgentPolicy } from '../agent/read-policy.ts';
import { offersOf } from '../pipeline/runner-plan.ts';
import { FailedSetups } from '../setup/failed-setups.ts';
import { type CaseSetups, type DescribedWork, describeWork } from './agent-work.ts';
import { agentAnswer, type AgentAnswerReader, FAILURE_BYTES_MAX } from './agent-answer.ts';
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
  readonly claimsIn: AgentAnswerReader['claimsIn'];
}

/** Runs the agent's command line. Every attempt is a separate run on a separate clone. */
export function agentTarget(agent: CliAgent): Target {
  const failedSetups = new FailedSetups();
  return {
    async ask({ one, attempt, signal, onRun }: CaseQuestion): Promise<AttemptResult> {
      const { recordings, repetition } = agent;
      const named = { caseId: one.id, repetition, attempt };
      const startedAtMs = systemClock.now();
      try {
        const order = caseOrder(agent.order, one, agent.casesDir);
        const answer = await executeAgent(
          { ...order, task: caseTask(one), ...(recordings && { recording: recordingFor(recordings, named) }) },
          {
            launcher: await agent.launcher(),
            home: agent.home,
            signer: agent.signer,
            signal,
            onFolder: ({ id }) => onRun?.(id),
            failedSetups,
          },
        );
        const { plan, capture, completedAtMs } = answer.run;
        const { id, folder } = answer.place;
        const read = await agentAnswer(folder, one, readerOf(agent));
        if (!read) throw new Fault('unreadable_run', "The files of the agent's run cannot be read.");
        return {
          ...read,
          latencyMs: completedAtMs - plan.startedAtMs,
          runId: id,
          ran: capture.phases.find(({ name }) => name === 'execute'),
        };
      } catch (error) {
        if (signal.aborted) return { latencyMs: 0, outcome: CANCELLED };
        if (error instanceof Fault && FAULTS_OF_A_CASE.has(error.code))
          return { latencyMs: Math.max(systemClock.now() - startedAtMs, 0), outcome: withoutRun(error) };
        throw error;
      }
    },
    // Nothing to do: each attempt observes its own abort signal.
    cancel: () => undefined,
    close: async () => undefined,
  };
}

/**
 * A task, setup or repository that Proctor cannot use makes its case an error, and so does a run that it cannot read. The
 * other cases go on.
 */
const FAULTS_OF_A_CASE: ReadonlySet<string> = new Set(['usage', 'setup_failed', 'clone_failed', 'unreadable_run']);

/** Nothing is known about how the agent ran, so there is no note about it, and the case is not its failure. */
function withoutRun({ code, message }: Fault): FailedAttempt {
  const [sentence = '', ...lines] = message.split('\n').map(line => line.trim());
  const whole = [sentence, lines.slice(-LINES_KEPT).join(' | ')].join(' ').trim();
  return {
    ok: false,
    class: 'other',
    message: printable(clip(whole, FAILURE_BYTES_MAX).text),
    ...(code !== 'usage' && { errorName: code.toUpperCase() }),
    mayRetry: false,
  };
}

const LINES_KEPT = 3;

function readerOf({ order, side, settings, claimsIn }: CliAgent): AgentAnswerReader {
  const { secrets = {}, keepCredentials } = order;
  return { side, secrets, settings, claimsIn, ...(keepCredentials && { keepCredentials }) };
}

export function caseTask({ input }: SuiteCase): string {
  if (input.context === undefined) return input.user;
  return `${input.user}\n\nThis goes with it, as JSON:\n${canonicalize(input.context)}`;
}

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
