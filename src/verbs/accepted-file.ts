import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import { readSeal } from '../evidence/judgement/judgement.ts';
import type { KeptDocuments, Side } from '../judge/compare-input.ts';
import { acceptedIn } from './evaluations.ts';
import { projectIn } from './report-commands.ts';
import { BASELINES } from './test/suite-test.ts';

/**
 * The documents in the pack of the accepted baseline behind a sealed comparison, one entry per trial. Finds the
 * baseline by its seal: in the named file, else among the baselines of the project. Undefined if it is not there.
 */
export function keptBehind(
  folder: string,
  { sides }: Comparison,
  cwd: string,
  named: string | undefined,
): readonly (KeptDocuments | undefined)[] | undefined {
  if (named !== undefined && sides.baseline.source !== 'accepted')
    throw new Fault('usage', 'The comparison has no accepted baseline, so --baseline does not apply. Omit it.');
  if (sides.baseline.pack !== 'read') return undefined;
  const seal = sealBehind(folder);
  if (named !== undefined) return documentsOf(namedSide(path.resolve(cwd, named), seal));
  for (const file of acceptedFiles(cwd)) {
    const side = sideIn(file);
    if (side !== undefined && side.baselineSeal === seal) return documentsOf(side);
  }
  return undefined;
}

/** The seal of the accepted baseline, as the seal of the comparison records it. */
function sealBehind(folder: string): string | undefined {
  const sealed = readSeal(folder, 'comparison.json');
  if (sealed.state !== 'sound') return undefined;
  return sealed.statement.predicate.rests_on.find(({ what, side }) => what === 'baseline' && side === 'baseline')
    ?.seal_sha256;
}

function namedSide(file: string, seal: string | undefined): Side {
  const side = acceptedIn(file, undefined);
  if (side.baselineSeal === seal) return side;
  const name = printable(path.basename(file));
  throw new Fault(
    'bad_baseline',
    `${name} is not the baseline of this comparison: its seal differs. Name the file that the comparison used.`,
  );
}

/** The seal of the comparison vouches for the baseline, so no key is needed. Skips files that are not baselines. */
function sideIn(file: string): Side | undefined {
  try {
    return acceptedIn(file, undefined);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** Files that may be accepted baselines: where `proctor test` and `proctor baseline accept` write them. */
export function acceptedFiles(cwd: string): string[] {
  const project = projectIn(cwd);
  const root = project?.dir ?? cwd;
  const folder = path.resolve(root, project?.project.baselines ?? BASELINES);
  const names = existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.json')) : [];
  const files = [
    ...names.sort().map(name => path.join(folder, name)),
    ...[cwd, root].map(dir => path.join(dir, DEFAULT_FILE)),
  ];
  return [...new Set(files)].filter(file => existsSync(file)).slice(0, FILES_MAX);
}

const DEFAULT_FILE = 'proctor-baseline.json';
/** Reading a baseline of 1,000 cases takes about 50 milliseconds. */
const FILES_MAX = 100;

function documentsOf({ pack, trials }: Side): readonly (KeptDocuments | undefined)[] | undefined {
  return pack === 'read' ? trials.map(({ kept }) => kept) : undefined;
}
