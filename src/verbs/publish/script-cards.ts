import { Fault } from '../../base/fault.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import type { PublishedScript } from '../../contracts/published-script/index.ts';
import { readVersion } from '../../publish/versions.ts';
import type { ScriptCard } from '../../publish/views.ts';
import { listScripts, releasesIn } from './publish.ts';

/** Decides whether a person may run a script, by its `who`. */
export type MayRun = (who: PublishedScript['who']) => boolean;

/** The scripts that a person may run, sorted by name. */
export function scriptCards(cwd: string, mayRun: MayRun): ScriptCard[] {
  return listScripts(cwd).scripts.flatMap(({ name }) => scriptCardOf(cwd, name, mayRun) ?? []);
}

/** The current version of a script; undefined if it is not offered to this person. */
export function scriptCardOf(cwd: string, name: string, mayRun: MayRun): ScriptCard | undefined {
  const home = homeFrom(cwd);
  const { current } = releasesIn(home, name);
  const script = current === null ? undefined : readVersion(home, name, current)?.script;
  if (!script || !mayRun(script.who)) return undefined;
  const { version, title, description = '', inputs = [] } = script;
  return { name, version, title, description, inputs };
}

/** Refuses a person who may not run a script, as if it did not exist. */
export function checkMayRun(cwd: string, name: string, version: string | undefined, mayRun: MayRun): void {
  const home = homeFrom(cwd);
  const wanted = version ?? releasesIn(home, name).current;
  const script = wanted === null ? undefined : readVersion(home, name, wanted)?.script;
  if (script && !mayRun(script.who)) throw new Fault('no_script', 'There is no such script.');
}
