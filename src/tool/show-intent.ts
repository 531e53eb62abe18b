import { type IntentFolder, readIntentFolder } from '../evidence/intent-folder.ts';
import { type LogLine, readLog } from '../evidence/read.ts';
import type { RunPlace } from '../evidence/runs.ts';
import { type Life, lifeOf } from './recover.ts';
import { wholeness } from './whole.ts';

/** The run of an intent, as far as it has come. */
export interface ShownIntent extends IntentFolder {
  readonly place: RunPlace;
  readonly life: Life;
  /** The folder verifies: it is as it was sealed. */
  readonly isWhole: boolean;
  /** The keys that the seal says it is signed with; null if it is not. */
  readonly keyIds: readonly string[] | null;
  readonly log?: readonly LogLine[];
}

/** What a folder says of the run of an intent; undefined if it is not one. */
export async function showIntent(place: RunPlace, withLog: boolean): Promise<ShownIntent | undefined> {
  const read = readIntentFolder(place.folder);
  const life = lifeOf(place);
  if (!read.request && (place.lane !== 'intent' || life === 'finished')) return undefined;
  return {
    place: { ...place, id: read.request?.run_id ?? place.id },
    ...read,
    life,
    ...(await wholeness(place.folder)),
    ...(withLog && { log: readLog(place.folder) }),
  };
}
