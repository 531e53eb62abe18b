import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { SuiteRequest } from '../contracts/suite/index.ts';
import type { RunPlace } from '../evidence/runs.ts';
import { lifeOf, openSuiteIn } from './recover.ts';

/** A run of a suite, as far as it has come. */
export interface ShownSuite {
  readonly place: RunPlace;
  /** Undefined while it is open. */
  readonly run: RunArtifact | undefined;
  readonly request: SuiteRequest | undefined;
  readonly evaluation: Evaluation | undefined;
  readonly life: Awaited<ReturnType<typeof lifeOf>>;
  /** How many cases of an open run are finished. */
  readonly done: number | undefined;
  /** The folder verifies: it is as it was sealed. */
  readonly isWhole: boolean;
  /** The keys that the seal says it is signed with; null if it is not. */
  readonly keyIds: readonly string[] | null;
}

/** What a folder says of the run of a suite; undefined if it is not one. */
export async function showSuite(place: RunPlace): Promise<ShownSuite | undefined> {
  const [{ readRun }, { documentIn }, { hasJournal }] = await Promise.all([
    import('../evidence/suite-folder.ts'),
    import('../evidence/read.ts'),
    import('../evidence/recover.ts'),
  ]);
  const [{ evaluation: judged }, { suiteRequest }, { wholeness }] = await Promise.all([
    import('../contracts/evaluation/index.ts'),
    import('../contracts/suite/index.ts'),
    import('./whole.ts'),
  ]);
  const { folder } = place;
  const open = hasJournal(folder) ? await openSuiteIn(folder) : undefined;
  const request =
    open?.plan?.request ?? (documentIn(folder, 'evidence/request.json', suiteRequest) as SuiteRequest | undefined);
  const run = readRun(folder);
  if (!request) return undefined;
  const evaluation = documentIn(folder, 'evaluation.json', judged) as Evaluation | undefined;
  const life = await lifeOf(place);
  const whole = await wholeness(folder);
  return { place: { ...place, id: request.run_id }, run, request, evaluation, life, done: open?.done, ...whole };
}
