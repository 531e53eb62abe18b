import path from 'node:path';
import { findAgents } from './find-agents.ts';
import { findDescription, type FoundDescription } from './find-description.ts';
import { findScripts, type FoundScript } from './find-scripts.ts';
import { findServers, type FoundServer } from './find-servers.ts';
import { findStart, type FoundStart } from './find-start.ts';
import { findTests } from './find-tests.ts';
import { isEmptyFolder, nameOfFolder } from './folder.ts';
import type { AgentName, Look } from './look.ts';

/** What there is to test. Nothing was started or changed to find it. */
export interface Survey {
  readonly name: string;
  readonly isEmpty: boolean;
  /** Servers on this machine, those of this folder first. */
  readonly servers: readonly FoundServer[];
  /** The `start` script of package.json. */
  readonly start: FoundStart | undefined;
  readonly description: FoundDescription | undefined;
  /** The command that runs the tests of this folder. */
  readonly tests: string | undefined;
  readonly agents: readonly AgentName[];
  readonly scripts: readonly FoundScript[];
}

/** One line per detector. */
const DETECTORS = {
  name: ({ cwd }: Look) => nameOfFolder(path.resolve(cwd)),
  isEmpty: ({ cwd }: Look) => isEmptyFolder(cwd),
  servers: findServers,
  start: findStart,
  description: findDescription,
  tests: findTests,
  agents: findAgents,
  scripts: findScripts,
} satisfies { [Key in keyof Survey]: (look: Look) => Survey[Key] | Promise<Survey[Key]> };

/** Looks at the folder, the PATH and the ports of this machine. */
export async function surveyFolder(look: Look): Promise<Survey> {
  const found = await Promise.all(
    Object.entries(DETECTORS).map(async ([key, detect]) => [key, await detect(look)] as const),
  );
  return Object.fromEntries(found) as unknown as Survey;
}
