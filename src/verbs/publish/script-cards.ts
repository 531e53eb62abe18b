import { Fault } from '../../base/fault.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import type { PublishedScript } from '../../contracts/published-script/index.ts';
import { readVersion } from '../../publish/versions.ts';
import type { ScriptCard } from '../../publish/views.ts';
import { listScripts, releasesIn, scriptListingOf } from './publish.ts';

/** Decides whether a person may run a script, by its `who`. */
export type MayRun = (who: PublishedScript['who']) => boolean;

/** The scripts that a person may run, sorted by name. */
export function scriptCards(cwd: string, mayRun: MayRun): ScriptCard[] {
  return listScripts(cwd).scripts.flatMap(({ name }) => scriptCardOf(cwd, name, mayRun) ?? []);
}

/** The current version of a script; undefined if it is not offered to this person. */
function scriptCardOf(cwd: string, name: string, mayRun: MayRun): ScriptCard | undefined {
  const home = homeFrom(cwd);
  const { current } = releasesIn(home, name);
  const script = current === null ? undefined : readVersion(home, name, current)?.script;
  if (!script || !mayRun(script.who)) return undefined;
  const { version, title, description = '', inputs = [] } = script;
  return { name, version, title, description, inputs };
}

/** A person who asks for a script. */
export interface Asker {
  readonly mayRun: MayRun;
  /** Publishers see every script and version. Others see only the current versions that they may run. */
  readonly isPublisher: boolean;
}

/** What a person sees of a script: the card of its current version, and for publishers every version. */
export function scriptSeen(cwd: string, name: string, { mayRun, isPublisher }: Asker) {
  if (!isPublisher) return { script: visibleCard(cwd, name, mayRun), all: null };
  return { script: scriptCardOf(cwd, name, mayRun) ?? null, all: scriptListingOf(homeFrom(cwd), name) };
}

/**
 * Refuses a version that a person may not run. For those who do not publish, a hidden, withdrawn or replaced version and
 * an unknown script are the same, so no answer tells that a script exists.
 */
export function checkMayRun(cwd: string, name: string, version: string | undefined, asker: Asker): void {
  if (!asker.isPublisher) {
    const { version: current } = visibleCard(cwd, name, asker.mayRun);
    if (version !== undefined && version !== current) throw noScript();
    return;
  }
  const home = homeFrom(cwd);
  const wanted = version ?? releasesIn(home, name).current;
  const script = wanted === null ? undefined : readVersion(home, name, wanted)?.script;
  if (script && !asker.mayRun(script.who)) throw noScript();
}

function visibleCard(cwd: string, name: string, mayRun: MayRun): ScriptCard {
  const card = orNone(() => scriptCardOf(cwd, name, mayRun));
  if (!card) throw noScript();
  return card;
}

/** The fault of a missing script suggests similar names, and that of a foreign one says that it exists. */
function orNone<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

const noScript = (): Fault => new Fault('no_script', 'There is no such script.');
