import { existsSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { contentHash } from '../base/hash.ts';
import { printable } from '../base/printable.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import { rerunId, ROUNDS_MAX } from '../contracts/suite/index.ts';
import { isSealed } from '../evidence/recovery/recover.ts';
import type { Side, TrialOfSide } from '../judge/compare-input.ts';
import type { Gate } from '../judge/compare/gate.ts';
import { isUnanswered, trialFrom } from '../judge/compare/side.ts';
import { type AskedCase, casesToAsk } from '../judge/compare/suspects.ts';
import { layOutAgain } from '../run/suite/layout.ts';
import { suitePlan } from '../run/suite/plan.ts';
import { layOutSuite, placeFor } from '../run/suite/suite.ts';
import { type AgainTargets, type Askable, askableSide, canAskBaseline } from './again-targets.ts';
import { aloneNotice, targetChanges } from './again-words.ts';
import { type JudgeContext, judgedRun, type SealNotice } from './judged.ts';
import { signerAt } from './keys.ts';
import { removeUnbegunSuite } from './recover.ts';
import { orderOf } from './lay-out-suite.ts';
import { runAll, type RunSuiteOptions } from './run-suite.ts';

/** The targets for running suspect cases again, and the budget. */
export interface AskAgainOptions extends AgainTargets {
  /** Maximum number of trials, both sides counted; from the gate file, else 200. */
  readonly maxTrials?: number;
  /** Time for all rounds; from the gate file, else 10 minutes. */
  readonly maxMs?: number;
  /** Maximum reported cost. A case that does not report its cost then ends the rounds. */
  readonly maxCostUsd?: number;
  readonly onRound?: (round: {
    readonly round: number;
    readonly cases: number;
    readonly sides: 'both' | 'new';
  }) => void;
  readonly onProgress?: RunSuiteOptions['onProgress'];
  readonly onWarning?: RunSuiteOptions['onWarning'];
  /** Exports a span for every round, with its attempts below it. */
  readonly tracer?: RunSuiteOptions['tracer'];
}

export interface AskedAgain {
  readonly baseline: Side;
  readonly candidate: Side;
  readonly told: readonly SealNotice[];
  readonly again: NonNullable<Comparison['again']>;
}

interface Around {
  readonly gate: Gate;
  readonly judge: JudgeContext;
  readonly cwd: string;
  readonly signingKey: string | undefined;
}

/**
 * Runs suspect cases again, one trial per side and round, until more trials would settle nothing or the budget is used up.
 * Each round is a separate run next to the first one, and its request records the reason.
 */
export async function askSuspects(
  first: { readonly baseline: Side; readonly candidate: Side },
  options: AskAgainOptions,
  around: Around,
): Promise<AskedAgain> {
  const budget = new Budget(options, around.gate.again);
  let { baseline, candidate } = first;
  let sides: 'both' | 'new' = canAskBaseline(baseline, candidate, options) ? 'both' : 'new';
  const told: SealNotice[] = [];
  let rounds = 0;
  let stopped: AskedAgain['again']['stopped'] = 'settled';
  for (;;) {
    const cases = casesToAsk(baseline, candidate, around.gate, sides);
    if (cases.length === 0) break;
    const trouble = around.judge.signal?.aborted
      ? 'cancelled'
      : budget.trouble(cases.length * (sides === 'both' ? 2 : 1));
    if (trouble) {
      stopped = trouble;
      break;
    }
    // A flag that is missing is an error before anything runs.
    const now = askableSide(candidate, 'new', options);
    const before = sides === 'both' ? askableSide(baseline, 'baseline', options) : undefined;
    if (rounds === 0 && sides === 'new') {
      budget.limitRounds(cases.length);
      options.onWarning?.(aloneNotice(baseline, budget.roundsOf(cases.length)));
    }
    rounds++;
    options.onRound?.({ round: rounds, cases: cases.length, sides });
    const ask = async (side: Askable): Promise<TrialOfSide> => {
      const asked = await askRound(side, cases, options, around);
      told.push(asked.told);
      budget.spend(asked.trial, cases.length);
      return asked.trial;
    };
    if (before) {
      const trial = await ask(before);
      // A baseline that no longer answers has not failed. Its round does not count, and the candidate continues alone.
      if (isUnanswered(trial)) sides = 'new';
      else baseline = withTrial(baseline, trial);
    }
    candidate = withTrial(candidate, await ask(now));
  }
  return { baseline, candidate, told, again: { sides, rounds, stopped, ...budget.account() } };
}

function withTrial(side: Side, trial: TrialOfSide): Side {
  return { ...side, trials: [...side.trials, trial] };
}

class Budget {
  #maxTrials: number;
  readonly #isDefault: boolean;
  readonly #maxMs: number;
  readonly #maxCostUsd: number | undefined;
  readonly #began = systemClock.now();
  #trials = 0;
  #costUsd: number | null = 0;

  constructor({ maxTrials, maxMs, maxCostUsd }: AskAgainOptions, file: Gate['again'] = {}) {
    const given = maxTrials ?? file.max_trials;
    this.#isDefault = given === undefined;
    this.#maxTrials = given ?? TRIALS_MAX;
    this.#maxMs = Math.round(maxMs ?? (file.max_minutes ?? MINUTES_MAX) * 60_000);
    this.#maxCostUsd = maxCostUsd ?? file.max_cost_usd;
  }

  /** Without new trials of the baseline, many rounds settle little. A budget that the user set still applies. */
  limitRounds(cases: number): void {
    if (this.#isDefault) this.#maxTrials = Math.min(this.#maxTrials, ROUNDS_ALONE_MAX * cases);
  }

  roundsOf(cases: number): number {
    return Math.floor(this.#maxTrials / cases);
  }

  /** Why no further round may start. */
  trouble(trials: number): AskedAgain['again']['stopped'] | undefined {
    if (this.#trials + trials > this.#maxTrials) return 'trials';
    if (systemClock.now() - this.#began >= this.#maxMs) return 'time';
    if (this.#maxCostUsd === undefined) return undefined;
    if (this.#costUsd === null) return 'cost_unknown';
    return this.#costUsd >= this.#maxCostUsd ? 'cost' : undefined;
  }

  spend({ evaluation }: TrialOfSide, trials: number): void {
    this.#trials += trials;
    for (const { metrics } of evaluation.cases) {
      this.#costUsd = this.#costUsd === null || metrics.cost_usd === null ? null : this.#costUsd + metrics.cost_usd;
    }
  }

  account() {
    return {
      trials: this.#trials,
      cost_usd: this.#costUsd,
      max_trials: this.#maxTrials,
      max_ms: this.#maxMs,
      ...(this.#maxCostUsd !== undefined && { max_cost_usd: this.#maxCostUsd }),
    };
  }
}

const TRIALS_MAX = 200;
const ROUNDS_ALONE_MAX = 20;
const MINUTES_MAX = 10;

/** Runs cases of one side once more and judges the answers. */
async function askRound(
  { folder, request, options }: Askable,
  cases: readonly AskedCase[],
  { onProgress, onWarning, tracer }: AskAgainOptions,
  { judge, cwd, signingKey }: Around,
): Promise<{ readonly trial: TrialOfSide; readonly told: SealNotice }> {
  const only = cases.map(({ case_id }) => case_id);
  const { of } = request.repetition;
  const out = path.dirname(path.dirname(folder));
  const round = await nextRound(of, path.dirname(folder));
  const runId = rerunId(of, round);
  const place = placeFor(out, request.version, runId);
  const order = {
    ...(await orderOf({ ...options, out, runId, only }, judge.home, cwd)),
    casesPath: path.posix.join(path.basename(folder), 'assets/cases.ndjson'),
    rerun: { of, round, cases: [...cases] },
  };
  if (request.target.kind !== 'http' && contentHash(order.target) !== request.target_sha256)
    throw new Fault(
      'target_changed',
      `The ${request.target.kind === 'declared' ? 'target' : request.target.kind} changed since this side's runs: ${targetChanges(request.target, order.target)}. Use the version that they used.`,
    );
  layOutSuite({
    place,
    write: into => layOutAgain(folder, only, into),
    planOf: written => suitePlan(order, 1, written),
  });
  const { runs } = await runAll([place], {
    ...options,
    home: judge.home,
    signer: signerAt(cwd, signingKey),
    ...(judge.signal && { signal: judge.signal }),
    ...(onProgress && { onProgress }),
    ...(onWarning && { onWarning }),
    ...(tracer && { tracer }),
  });
  if (runs[0]?.isOpen)
    throw new Fault('cancelled', `The round was stopped. Resume it with proctor run suite --resume ${runId}`);
  const judged = await judgedRun(place.folder, judge, 'anew');
  return { trial: trialFrom(place.folder, judged.evaluation, judged.seal), told: judged.told };
}

/** The number of the next round. An interrupted round must be resumed first, so that no case runs twice. */
async function nextRound(of: string, beside: string): Promise<number> {
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const id = rerunId(of, round);
    const folder = path.join(beside, id);
    removeUnbegunSuite(folder);
    if (!existsSync(folder)) return round;
    if (isSealed(folder)) continue;
    throw new Fault(
      'suite_open',
      `An earlier round was interrupted. Resume it first: proctor run suite --resume ${printable(id)}`,
    );
  }
  throw new Fault('too_many_rounds', `These cases ran again ${ROUNDS_MAX} times. Run the suite with --repeat instead.`);
}
