import { type IntentFolder, readIntentFolder } from '../evidence/intent/intent-folder.ts';
import { type LogLine, readLog } from '../evidence/step/log.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { type Life, lifeOf } from './recover.ts';
import { wholeness } from './whole.ts';

export interface ShownIntent extends IntentFolder {
  readonly place: RunFolder;
  readonly life: Life;
  /** Whether the run folder verifies. */
  readonly isWhole: boolean;
  /** The signing keys that the seal names; null if it is not signed. */
  readonly keyIds: readonly string[] | null;
  readonly log?: readonly LogLine[];
}

/** Reads an intent's run folder; undefined for another kind of run. */
export async function showIntent(place: RunFolder, withLog: boolean): Promise<ShownIntent | undefined> {
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
