import {
  isChosenTwice,
  MADE_TWICE,
  type MadeTwice,
  madeTwice,
  type TwiceCase,
  twiceSums,
} from '../../contracts/made-twice/index.ts';
import type { SuiteRequest } from '../../contracts/suite/index.ts';
import { documentIn } from '../document.ts';
import type { Asset } from './suite-store.ts';

/** What is stored about an attempt that was chosen to be made twice. */
export interface KeptTwice {
  readonly note: TwiceCase;
  /** What the second worker signed, as a line. */
  readonly outcome?: string | undefined;
  readonly assets: readonly Asset[];
}

/** The document about the attempts that were made twice; undefined if none was to be. */
export function madeTwiceOf(
  { run_id, twice }: SuiteRequest,
  ids: readonly string[],
  notes: ReadonlyMap<string, TwiceCase>,
): MadeTwice | undefined {
  if (!twice) return undefined;
  const cases = ids.filter(id => isChosenTwice(twice, run_id, id)).map(id => notes.get(id) ?? unanswered(id));
  return { schema_version: 'made-twice.v1', run_id, share: twice.share, ...twiceSums(cases), cases };
}

function unanswered(id: string): TwiceCase {
  return { case_id: id, attempt: null, first: null, second: null, why: 'not_answered', differs: null };
}

/** Reads the document of a finished run; undefined if there is none. */
export function madeTwiceIn(folder: string): MadeTwice | undefined {
  return documentIn(folder, MADE_TWICE, madeTwice) as MadeTwice | undefined;
}
