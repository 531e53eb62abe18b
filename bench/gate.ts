/**
 * `npm run bench:gate`: how often the gate is right on simulated suites with known pass rates, and how long it takes.
 */
import {
  askAgain,
  type CaseTrials,
  decideCases,
  decideTrials,
  type GateMode,
  type GateTrial,
} from '../src/contracts/gate/decide/index.ts';
import { chanceFrom, type Chance, drawn, passesOf, SUITES, type SuiteName, type Truth, TRUTHS } from './gate-suites.ts';
import { printRows, type Row } from './rows.ts';

const REPETITIONS = Number(process.argv[2] ?? 2_000);
const SEED = Number(process.argv[3] ?? 77_031);

interface Cell {
  readonly suite: SuiteName;
  readonly truth: Truth;
  readonly n: number;
  readonly k: number;
  readonly mode: GateMode;
  readonly isAgain: boolean;
}

interface Rates {
  readonly cell: Cell;
  readonly regression: number;
  readonly none: number;
  /** Trials per case, both sides together. */
  readonly trials: number;
}

const SIZES = [10, 30, 100, 1_000];
const TRIALS = [1, 3, 5];
const RANDOM: readonly SuiteName[] = ['real', 'flaky', 'mixed'];
const known = new Map<string, Rates>();

/** The limits that the design sets, each with the cells to which it applies. */
const LIMITS: readonly (readonly [
  what: string,
  bound: string,
  cells: readonly Cell[],
  worst: (rates: Rates) => number,
])[] = [...(['proven', 'balanced'] as const).flatMap(mode => common(mode)), ...proven(), ...balanced()];

printRows('gate', [...LIMITS.map(limitRow), speed()], {
  repetitions: REPETITIONS,
  characteristics: characteristics(),
});

/** Data for docs/gate.svg: each cell is the worst of the random suites. */
function characteristics(): object[] {
  return (['balanced', 'proven'] as const).flatMap(mode =>
    SIZES.flatMap(n =>
      TRIALS.map(k => {
        const ratesAt = (truth: Truth): Rates[] => cells(mode, truth, [n], [k], RANDOM).map(ratesOf);
        const [same, dropped] = [ratesAt('same'), ratesAt('drop 20')];
        return {
          mode,
          cases: n,
          trials: k,
          false_alarm: Math.max(...same.map(found)),
          clears_unchanged: Math.min(...same.map(cleared)),
          finds_drop_of_20: Math.min(...dropped.map(found)),
          clears_drop_of_20: Math.max(...dropped.map(cleared)),
        };
      }),
    ),
  );
}

function common(mode: GateMode): (typeof LIMITS)[number][] {
  const at = (truth: Truth, sizes = SIZES, trials = TRIALS, suites = RANDOM): Cell[] =>
    cells(mode, truth, sizes, trials, suites);
  return [
    [`${mode}: false alarm, nothing changed`, '≤ 0.05', at('same'), ({ regression }) => regression],
    [`${mode}: false alarm, improved`, '≤ 0.01', at('better'), ({ regression }) => regression],
    [`${mode}: detection of 20 points, 30 cases, k = 3`, '≥ 0.85', at('drop 20', [30], [3]), found],
    [`${mode}: detection of 20 points, 30 cases, k = 5`, '≥ 0.95', at('drop 20', [30], [5]), found],
    [`${mode}: detection of 20 points, 100 cases`, '≥ 0.9', at('drop 20', [100]), found],
    [`${mode}: detection of 5 points, 1,000 cases, k ≥ 3`, '≥ 0.9', at('drop 5', [1_000], [3, 5]), found],
    [
      `${mode}: detection, 1 in 20 breaks, 30 and 100 cases, real, k = 5`,
      '≥ 0.95',
      at('1 in 20 breaks', [30, 100], [5], ['real']),
      found,
    ],
    // In the flaky suite this is a drop of 4.5 points, which the margin allows.
    [
      `${mode}: detection, 1 in 20 breaks, 1,000 cases, real and mixed, k ≥ 3`,
      '≥ 0.95',
      at('1 in 20 breaks', [1_000], [3, 5], ['real', 'mixed']),
      found,
    ],
    [`${mode}: detection, 1 in 5 breaks, 30 cases, k ≥ 3`, '≥ 0.95', at('1 in 5 breaks', [30], [3, 5]), found],
  ];
}

function proven(): (typeof LIMITS)[number][] {
  const at = (truth: Truth, sizes = SIZES, trials = TRIALS, suites = RANDOM, isAgain = false): Cell[] =>
    cells('proven', truth, sizes, trials, suites, isAgain);
  return [
    ['proven: wrong "no regression" at a drop of 5 points', '≤ 0.08', at('drop 5'), cleared],
    ['proven: wrong "no regression" at a drop of 10 points', '≤ 0.02', at('drop 10'), cleared],
    ['proven: wrong "no regression" at a drop of 20 points', '≤ 0.005', at('drop 20'), cleared],
    ['proven: wrong "no regression", 1 in 20 breaks, k ≥ 3', '≤ 0.01', at('1 in 20 breaks', SIZES, [3, 5]), cleared],
    ['proven: wrong "no regression", 1 in 20 breaks, k = 1', '≤ 0.05', at('1 in 20 breaks', SIZES, [1]), cleared],
    [
      'proven: wrong "no regression", some cases break and others improve, k ≥ 3',
      '≤ 0.01',
      at('breaks and mends', SIZES, [3, 5]),
      cleared,
    ],
    [
      'proven: "no regression", nothing changed, real, 100 cases',
      '≥ 0.65',
      at('same', [100], [3, 5], ['real']),
      cleared,
    ],
    [
      'proven: "no regression", nothing changed, 1,000 cases, k = 3, suspects rerun',
      '≥ 0.8',
      at('same', [1_000], [3], ['real', 'flaky'], true),
      cleared,
    ],
    [
      'proven: detection, 1 in 20 breaks, one trial, suspects rerun, real',
      '≥ 0.95',
      at('1 in 20 breaks', [30, 100], [1], ['real'], true),
      found,
    ],
    [
      'proven: trials per case for this, both sides together',
      '≤ 3.2',
      at('1 in 20 breaks', [30, 100], [1], ['real'], true),
      ({ trials }) => trials,
    ],
    [
      'proven: wrong "no regression", some cases break and others improve, suspects rerun',
      '≤ 0.01',
      at('breaks and mends', [30, 100], [1, 3], ['real', 'flaky'], true),
      cleared,
    ],
  ];
}

function balanced(): (typeof LIMITS)[number][] {
  const at = (truth: Truth, sizes = SIZES, trials = TRIALS, suites = RANDOM): Cell[] =>
    cells('balanced', truth, sizes, trials, suites);
  return [
    [
      'balanced: wrong "no regression" at 20 points, 30 cases or more',
      '≤ 0.01',
      at('drop 20', [30, 100, 1_000]),
      cleared,
    ],
    ['balanced: wrong "no regression" at 20 points, 10 cases', '≤ 0.1', at('drop 20', [10]), cleared],
    ['balanced: wrong "no regression" at 10 points, 30 cases, k = 3', '≤ 0.05', at('drop 10', [30], [3]), cleared],
    [
      'balanced: wrong "no regression", 1 in 20 breaks, real',
      '≤ 0.01',
      at('1 in 20 breaks', SIZES, TRIALS, ['real']),
      cleared,
    ],
    [
      'balanced: "no regression", deterministic and unchanged',
      '= 1',
      at('same', SIZES, TRIALS, ['deterministic']),
      cleared,
    ],
  ];
}

function cells(
  mode: GateMode,
  truth: Truth,
  sizes: readonly number[],
  trials: readonly number[],
  suites: readonly SuiteName[],
  isAgain = false,
): Cell[] {
  return suites.flatMap(suite => sizes.flatMap(n => trials.map(k => ({ suite, truth, n, k, mode, isAgain }))));
}

function found({ regression }: Rates): number {
  return regression;
}

function cleared({ none }: Rates): number {
  return none;
}

/** Reports the cell that is closest to the limit or exceeds it most. */
function limitRow([what, bound, all, valueOf]: (typeof LIMITS)[number]): Row {
  const limit = Number(bound.slice(2));
  const isMost = bound.startsWith('≤');
  const measured = all.map(cell => ({ cell, value: valueOf(ratesOf(cell)) }));
  const worst = measured.reduce((a, b) => ((isMost ? b.value > a.value : b.value < a.value) ? b : a));
  const { suite, n, k } = worst.cell;
  return {
    what,
    ratio: worst.value,
    bound,
    holds: isMost ? worst.value <= limit : worst.value >= limit,
    detail: `${all.length} cells; closest: ${suite}, ${n} cases, ${k} trials`,
  };
}

function ratesOf(cell: Cell): Rates {
  const key = JSON.stringify(cell);
  const before = known.get(key);
  if (before) return before;
  const { suite, truth, n, k, mode, isAgain } = cell;
  const chance = chanceFrom(SEED + n * 31 + k * 7 + key.length);
  let regression = 0;
  let none = 0;
  let trials = 0;
  // 1,000 cases take longer and vary less.
  const repetitions = n === 1_000 ? Math.ceil(REPETITIONS / 4) : REPETITIONS;
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const rates = SUITES[suite](n, chance);
    const now = TRUTHS[truth](rates);
    const cases = drawn(rates, now, k, k, chance);
    const asked = isAgain ? askedAgain(cases, rates, now, chance) : cases;
    const { verdict } = decideCases(asked, { mode });
    if (verdict === 'regression') regression++;
    if (verdict === 'no_regression') none++;
    for (const { baseline, candidate } of asked)
      trials += baseline.planned.trials + baseline.again.trials + candidate.planned.trials + candidate.again.trials;
  }
  const rates = {
    cell,
    regression: regression / repetitions,
    none: none / repetitions,
    trials: trials / repetitions / n,
  };
  known.set(key, rates);
  return rates;
}

function askedAgain(cases: CaseTrials[], before: Float64Array, now: Float64Array, chance: Chance): CaseTrials[] {
  const index = new Map(cases.map(({ id }, at) => [id, at]));
  for (let all = cases; ; ) {
    const ids = askAgain(all);
    if (ids.length === 0) return all;
    all = [...all];
    for (const id of ids) {
      const at = index.get(id) as number;
      const { baseline, candidate } = all[at] as CaseTrials;
      all[at] = {
        id,
        baseline: oneMore(baseline, before[at] as number, chance),
        candidate: oneMore(candidate, now[at] as number, chance),
      };
    }
  }
}

function oneMore({ planned, again }: CaseTrials['baseline'], rate: number, chance: Chance): CaseTrials['baseline'] {
  return { planned, again: { passes: again.passes + passesOf(rate, 1, chance), trials: again.trials + 1 } };
}

/** Measures the time to decide on 10,000 cases, three trials each, relative to the time to parse them. */
function speed(): Row {
  const chance = chanceFrom(SEED);
  const side = (): GateTrial[] =>
    Array.from({ length: 30_000 }, (_, at) => ({
      case: `case-${Math.floor(at / 3)}`,
      trial: at % 3,
      pass: chance() < 0.9,
    }));
  const sides = [side(), side()] as const;
  const texts = sides.map(trials => trials.map(trial => JSON.stringify(trial)));
  const parse = (): number => texts.reduce((sum, lines) => sum + lines.map(line => JSON.parse(line)).length, 0);
  const [parsing, deciding] = [parse, () => decideTrials(...sides)].map(leastMs) as [number, number];
  return {
    what: 'deciding on 10,000 cases × 3 trials ÷ parsing them',
    ratio: deciding / parsing,
    bound: '≤ 3',
    holds: deciding <= 3 * parsing,
    detail: `${deciding.toFixed(1)} ms ÷ ${parsing.toFixed(1)} ms of CPU`,
  };
}

function leastMs(act: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 9; round++) {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}
