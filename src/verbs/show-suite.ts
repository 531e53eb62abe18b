import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { MadeTwice } from '../contracts/made-twice/index.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { type SuiteRequest, suiteRequest } from '../contracts/suite/index.ts';
import { documentIn } from '../evidence/document.ts';
import { hasJournal } from '../evidence/recovery/recover.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { madeTwiceIn } from '../evidence/suite/made-twice.ts';
import { readRun } from '../evidence/suite/suite-folder.ts';
import { shownEvaluation, type SealNotice } from './judged.ts';
import { type Life, lifeOf, openSuiteIn } from './recover.ts';
import { wholeness } from './whole.ts';

export interface ShownSuite {
  readonly place: RunFolder;
  /** Undefined while the run is open. */
  readonly run: RunArtifact | undefined;
  readonly request: SuiteRequest | undefined;
  readonly evaluation: Evaluation | undefined;
  /** Where two workers differ, if a share of the attempts was made twice. */
  readonly twice: MadeTwice | undefined;
  /** Whether the evaluation matches its seal; undefined while the run is open. */
  readonly judgement: SealNotice | undefined;
  readonly life: Life;
  /** The number of finished cases of an open run. */
  readonly done: number | undefined;
  /** Whether the run folder verifies. */
  readonly isWhole: boolean;
  /** The signing keys that the seal names; null if it is not signed. */
  readonly keyIds: readonly string[] | null;
}

/** Reads a suite's run folder; undefined for another kind of run. */
export async function showSuite(place: RunFolder, key: Checker | undefined): Promise<ShownSuite | undefined> {
  const { folder } = place;
  const open = hasJournal(folder) ? openSuiteIn(folder) : undefined;
  const request =
    open?.plan?.request ?? (documentIn(folder, 'evidence/request.json', suiteRequest) as SuiteRequest | undefined);
  const run = readRun(folder);
  if (!request) return undefined;
  const life = lifeOf(place);
  const { run_id: id } = request;
  const judged = life === 'finished' ? await shownEvaluation(folder, id, key) : undefined;
  return {
    place: { ...place, id },
    run,
    request,
    evaluation: judged?.evaluation,
    twice: request.twice && run ? madeTwiceIn(folder) : undefined,
    judgement: judged?.told,
    life,
    done: open?.done,
    ...(await wholeness(folder)),
  };
}
