import { defined } from '../base/defined.ts';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import { type Evaluation, isAllFailing, unjudgedIn } from '../contracts/evaluation/index.ts';
import type { SuiteRequest } from '../contracts/suite/index.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { madeTwiceIn } from '../evidence/suite/made-twice.ts';
import type { ShownSuiteResult } from './run-suite.ts';

/** A sealed run of a suite, read from its folder. */
export interface SealedSuite {
  readonly place: RunFolder;
  readonly run: RunArtifact;
  readonly request: SuiteRequest;
  readonly evaluation: Evaluation | undefined;
}

/** The result of a suite that another process ran. The reasons of failed cases are in `proctor show`. */
export function suiteResultOf(
  repetitions: readonly [SealedSuite, ...SealedSuite[]],
  keyId: string | null,
): ShownSuiteResult {
  const [{ request }] = repetitions;
  const evaluations = repetitions.flatMap(({ evaluation }) => evaluation ?? []);
  return {
    kind: 'suite',
    version: request.version,
    runs: repetitions.map(shownRun),
    isAllFailing: isAllFailing(evaluations.flatMap(({ cases }) => cases)),
    checks: request.gate ? (repetitions.at(-1)?.evaluation?.gate?.checks ?? null) : [],
    keyId,
  };
}

function shownRun({ place, run, request, evaluation }: SealedSuite): ShownSuiteResult['runs'][number] {
  const { cases_total: total = 0, cases_completed: ok = 0, cases_failed: failed = 0 } = run.stats ?? {};
  const notPassed = (evaluation?.cases ?? []).filter(({ verdict }) => verdict !== 'pass').slice(0, NAMED_MAX);
  return {
    place,
    total,
    ok,
    failed,
    gaveUp: false,
    troubles: [],
    isOpen: false,
    durationMs: run.stats?.duration_ms ?? 0,
    judged: evaluation?.summary,
    repairs: evaluation?.repairs,
    notPassed: notPassed.map(({ case_id }) => case_id),
    ...(evaluation && { unjudged: unjudgedIn(evaluation.cases) }),
    ...defined({ twice: request.twice && madeTwiceIn(place.folder) }),
  };
}

const NAMED_MAX = 10;
