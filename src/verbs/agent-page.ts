import path from 'node:path';
import { transcriptLines } from '../evidence/agent/agent-folder.ts';
import { plannedPolicyIn } from '../evidence/agent/planned-policy.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { agentPage } from '../reports/pages/agent-page.ts';
import { turnsIn } from '../run/agent/turns.ts';
import type { PageReader } from './run-pages.ts';
import { showAgent } from './show-agent.ts';

/** The page of an agent run, finished or not; undefined for another kind of run. */
export const agentPageOf: PageReader = async (place, key) => {
  const shown = await showAgent(place, false, key);
  if (!shown) return undefined;
  const { folder } = place;
  const family = shown.outcome?.agent.family ?? shown.plan?.agent.family ?? '';
  const [lines, turns] = [transcriptLines(folder), turnsIn(folder, family)];
  const planned = shown.outcome ? undefined : plannedPolicyIn(folder);
  return agentPage({ ...shown, planned, key, name: nameOf(place), lines, turns });
};

/**
 * The run's name on the command line, without the path of this machine. It is the folder's name, because the documents
 * may name another run. An attempt of a suite is found by its path.
 */
function nameOf({ id, folder }: RunFolder): string {
  const parts = folder.split(path.sep);
  const home = parts.lastIndexOf('.proctor');
  if (home >= 0 && parts[home + 1] === 'runs') return id;
  return home >= 0 ? parts.slice(home).join('/') : (parts.at(-1) ?? id);
}
