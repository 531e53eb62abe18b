import { realpathSync } from 'node:fs';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import { bytesHash } from '../base/hash.ts';
import { type Evaluation, isAllFailing, type UnjudgedCounts, unjudgedIn } from '../contracts/evaluation/index.ts';
import type { LimitCheck, GateLimits } from '../contracts/gate/limits/index.ts';
import type { MadeTwice } from '../contracts/made-twice/index.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import type { ProjectGate } from '../contracts/project/index.ts';
import type { StatedProvenance } from '../contracts/provenance.ts';
import type { Signer } from '../contracts/seal/index.ts';
import type { Shard } from '../contracts/suite/index.ts';
import { RUN_ID, type RunFolder } from '../evidence/run-folder/runs.ts';
import { madeTwiceIn } from '../evidence/suite/made-twice.ts';
import type { Queue } from '../queue/queue.ts';
import { suitePlanIn } from '../evidence/suite/suite-resume.ts';
import type { SuitePlan } from '../evidence/suite/suite-run.ts';
import { takeOwnLock } from '../execute/host/locks.ts';
import { HeldAnswers } from '../judge/suite/held-answers.ts';
import type { Requested } from '../policy/effective-limits.ts';
import type { AgentOrder } from '../run/agent/order.ts';
import type { AgentAsked } from '../run/suite/agent-asked.ts';
import type { SuiteSettings } from '../run/suite/settings.ts';
import { executeSuite as run, type SuiteAnswer, type SuiteContext } from '../run/suite/suite.ts';
import type { Target } from '../run/suite/target.ts';
import type { Tracer } from '../trace/tracer.ts';
import { judgeOwnRun } from './judged.ts';
import { laidOutSuite } from './lay-out-suite.ts';
import { ledgerOf } from './ledger.ts';
import type { QueueOptions } from './queue-choice.ts';
import { targetFor } from './suite-targets.ts';
import type { TracedSuiteResult } from './traced-suite.ts';

/** A suite to run, its target and its limits. */
export interface RunSuiteOptions extends Partial<SuiteSettings>, AgentAsked, QueueOptions {
  /** The cases file: .yaml, .json, .jsonl or .csv. */
  readonly cases: string;
  readonly as: 'baseline' | 'new';
  /** The name of the suite in the project file, for `proctor history`. */
  readonly suite?: string;
  /** The URL of an API; cases go to `run-case` below it. */
  readonly baseUrl?: string;
  /** A target file, or the name of a target in the project file: how to ask, and how to read the reply. */
  readonly target?: string;
  /** The project file that names the target; by default the nearest `proctor.yaml`. */
  readonly project?: string;
  /** A script that answers the cases in a sandbox. */
  readonly script?: string;
  /** An agent, `claude` or `codex`. The text of a case is its task. */
  readonly agent?: string;
  /** The agent policy: `read-only` (default), `edit`, `open` or a file. */
  readonly policy?: string;
  /** The folder to work on; the working folder by default. Each attempt gets a private clone of it. */
  readonly dir?: string;
  /** A YAML or JSON file with more checks of every case. Its overlays are relative to the file. */
  readonly checksFile?: string;
  /** The folder that paths in the cases start from; the folder of the cases file by default. */
  readonly casesFolder?: string;
  /** The environment in which to find the agent's program and model credential. The agent does not see it. */
  readonly environment?: AgentOrder['environment'];
  readonly bounds?: Omit<Requested, 'profile' | 'timeoutMs' | 'idleMs'> & { readonly profile?: string | Profile };
  /** The folder for the artifacts, in `baseline/` and `new/`; `.proctor/runs` by default. */
  readonly out?: string;
  readonly runId?: string;
  /** The ids of the cases to run. */
  readonly only?: readonly string[];
  /** Runs one part of the suite: every `total`-th case, from the one at `index`. `mergeRuns` joins the parts. */
  readonly shard?: Shard;
  readonly repeat?: number;
  /** With a queue: the share of attempts that a second worker with another key makes again, up to 1. */
  readonly twice?: number;
  /** A gate file, or its keys. Its limits on the candidate apply. */
  readonly gate?: string | ProjectGate;
  /** Limits on all cases. Each overrides the same limit in the file. */
  readonly limits?: GateLimits;
  /** Headers for every request. Their values are masked in everything stored. */
  readonly headers?: readonly Header[];
  /** More values to mask, by variable name. Scripts and agents also see them. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Stores well-known credentials unmasked. Declared secrets stay masked. */
  readonly keepCredentials?: boolean;
  /** Components of the target, if its answers do not state them: model, prompt_version, agent_version … */
  readonly provenance?: StatedProvenance;
  /** Rejects replies that need a repair. By default, Proctor repairs and counts a fixed list of faults. */
  readonly strictReplies?: boolean;
  /** Follows redirects within the same origin. */
  readonly redirects?: boolean;
  readonly cwd?: string;
  /** Key that signs the seals; the key in `.proctor` by default. */
  readonly signingKey?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: SuiteContext['onProgress'];
  /** Called with an early verdict on every answer; null if it is not known yet. The evaluation after the run decides. */
  readonly onVerdict?: (verdict: 'pass' | 'fail' | null) => void;
  readonly onFolder?: (place: RunFolder) => void;
  /** Called with warnings that do not affect the runs. */
  readonly onWarning?: (sentence: string) => void;
  /** Exports spans. It makes no difference to the run or its evidence. */
  readonly tracer?: Tracer;
  readonly backoffMs?: number;
  readonly breakerPausesMs?: readonly number[];
}

export interface Header {
  readonly name: string;
  /** The environment variable that provides the value. */
  readonly env: string;
  readonly value: string;
}

/** The result of a suite, with one run per repetition. */
export interface SuiteRunResult {
  readonly kind: 'suite';
  readonly version: 'baseline' | 'new';
  readonly runs: readonly JudgedAnswer[];
  /** At least one case failed, and none passed. */
  readonly isAllFailing: boolean;
  /** Each limit with its measurement; null if there are limits but nothing was judged. */
  readonly checks: readonly LimitCheck[] | null;
  /** The id of the signing key, or null. */
  readonly keyId: string | null;
  /** The part of the suite that ran; absent for a whole suite. */
  readonly shard?: Shard;
}

/** The result as it is printed. It needs no plan, so it can also come from a run folder. */
export type ShownSuiteResult = Omit<SuiteRunResult, 'runs'> & {
  readonly runs: readonly Omit<JudgedAnswer, 'plan'>[];
};

/** A run and its verdicts. An open run, or one stopped before judging, has none yet. */
interface JudgedAnswer extends SuiteAnswer {
  readonly judged: Evaluation['summary'] | undefined;
  /** How often each repair was applied to the replies; undefined if none was. */
  readonly repairs: Evaluation['repairs'];
  /** The ids of the first ten cases that did not pass. */
  readonly notPassed: readonly string[];
  /** Undefined if the run is not judged yet. */
  readonly unjudged?: UnjudgedCounts;
  /** Where two workers differ, if a share of the attempts was made twice. */
  readonly twice?: MadeTwice;
}

const NAMED_MAX = 10;

/** Sends every case of a suite to its target, judges the answers and seals the evidence. */
export async function runSuite(given: RunSuiteOptions): Promise<SuiteRunResult> {
  const { places, going } = await laidOutSuite(given);
  if (given.queue === undefined) return runAll(places, going);
  const { withQueue, refuseKnownRun } = await import('./queued-suite.ts');
  return withQueue(going, async queue => {
    if (given.runId !== undefined) await refuseKnownRun(places, queue, going);
    return runAll(places, { ...going, queue });
  });
}

/** What a run needs in addition to its plan. */
export type StartedSuiteRun = Pick<
  RunSuiteOptions,
  | 'baseUrl'
  | 'headers'
  | 'secrets'
  | 'environment'
  | 'bounds'
  | 'signal'
  | 'onProgress'
  | 'onVerdict'
  | 'onFolder'
  | 'onWarning'
  | 'tracer'
  | 'backoffMs'
  | 'breakerPausesMs'
  | 'cwd'
  | keyof QueueOptions
> & { readonly home: string; readonly signer: Signer | undefined };

/** Runs the prepared repetitions one after the other and judges each. */
export async function runAll(places: readonly RunFolder[], going: StartedSuiteRun): Promise<SuiteRunResult> {
  const runs: JudgedAnswer[] = [];
  const evaluations: Evaluation[] = [];
  const signal = going.signal ?? new AbortController().signal;
  for (const place of places) {
    // A name that the user chose may be anywhere in the ledger, not only at its end.
    const ledger = ledgerOf(going.home, going.onWarning, RUN_ID.test(place.id) ? 'its end' : 'all of it');
    const plan = suitePlanIn(place.folder);
    if (!plan) throw new Fault('not_a_suite', 'The folder contains no suite run that has started.');
    going.onFolder?.(place);
    const held = new HeldAnswers();
    const act = async (traced: (target: Target) => Target) => {
      const sent = await run(place, traced(await targetFor(plan, going, place.folder)), {
        signal,
        signer: going.signer,
        ledger,
        ...(going.onProgress && { onProgress: going.onProgress }),
        onArtifact: await holding(held, going.onVerdict),
        ...(going.backoffMs !== undefined && { backoffMs: going.backoffMs }),
        ...(going.breakerPausesMs && { breakerPausesMs: going.breakerPausesMs }),
      });
      if (!sent.isOpen && typeof going.queue === 'object') await leaveQueue(going.queue, plan);
      // A suite from elsewhere may contain check scripts. They run only when the user requests a report or a comparison.
      const isJudged = !sent.isOpen && plan.request.begun_elsewhere === undefined;
      const judge = { home: going.home, signal };
      const judged = isJudged ? judgeOwnRun(place.folder, judge, going.signer, held).catch(ifStopped) : undefined;
      return { answer: sent, evaluation: await judged };
    };
    const { answer, evaluation } = await whileAlone(place, () => inSpan(plan, going, act));
    const notPassed = (evaluation?.cases ?? []).filter(({ verdict }) => verdict !== 'pass').slice(0, NAMED_MAX);
    if (evaluation) evaluations.push(evaluation);
    runs.push({
      ...answer,
      judged: evaluation?.summary,
      repairs: evaluation?.repairs,
      notPassed: notPassed.map(({ case_id }) => case_id),
      ...(evaluation && { unjudged: unjudgedIn(evaluation.cases) }),
      ...defined({ twice: answer.isOpen || !plan.request.twice ? undefined : madeTwiceIn(place.folder) }),
    });
    // A stop between two repetitions is reported for the next one, which then sends nothing.
    if (answer.isOpen) break;
  }
  const { version, gate, shard } = runs[0]?.plan.request ?? {};
  if (version === undefined) throw new Fault('finished', 'The run is finished. There is nothing to resume.');
  return {
    kind: 'suite',
    version,
    runs,
    isAllFailing: isAllFailing(evaluations.flatMap(({ cases }) => cases)),
    checks: gate ? (evaluations.at(-1)?.gate?.checks ?? null) : [],
    keyId: going.signer?.keyId ?? null,
    ...(shard && { shard: { index: shard.index, total: shard.total } }),
  };
}

/** Runs the suite in a span, if there is a tracer. */
async function inSpan<Result extends TracedSuiteResult>(
  plan: SuitePlan,
  going: StartedSuiteRun,
  act: (traced: (target: Target) => Target) => Promise<Result>,
): Promise<Result> {
  if (!going.tracer) return act(target => target);
  const { tracedSuite } = await import('./traced-suite.ts');
  return tracedSuite(going.tracer, plan, going, act);
}

/** A second attempt that no worker made in time may still wait. It must not reach the target after the seal. */
async function leaveQueue(queue: Queue, { request: { run_id: id, twice } }: SuitePlan): Promise<void> {
  if (twice) await queue.withdraw(id).catch(() => undefined);
  await queue.markSealed(id).catch(() => undefined);
}

/** Holds answers until they are judged. Early verdicts are loaded only if a reader watches. */
async function holding(
  held: HeldAnswers,
  told: RunSuiteOptions['onVerdict'],
): Promise<NonNullable<SuiteContext['onArtifact']>> {
  if (!told) return (asked, _, text) => held.take(asked, text);
  const { earlyVerdict } = await import('../judge/suite/early-verdict.ts');
  return (asked, artifact, text) => {
    held.take(asked, text);
    told(earlyVerdict(asked, artifact));
  };
}

/** A suite that is stopped during judging keeps its answers. The user can judge them later. */
function ifStopped(error: unknown): undefined {
  if (!(error instanceof Fault && error.code === 'cancelled')) throw error;
}

/** Locks a run. Two processes on one run would send every case twice, and overwrite each other's files. */
export async function whileAlone<Answer>({ id, folder }: RunFolder, act: () => Promise<Answer>): Promise<Answer> {
  const lock = takeOwnLock(`suite-${bytesHash(realpathSync(folder)).slice(-16)}`);
  if (!lock) throw new Fault('alive', `${id} is still running.`);
  try {
    return await act();
  } finally {
    lock.close();
  }
}
