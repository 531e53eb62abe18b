import { shortened } from '../../base/shortened.ts';
import type { VersionFact } from '../../contracts/matrix.ts';
import { type SuiteTarget, targetName } from '../../contracts/suite/index.ts';
import { RUN_ID } from '../../evidence/run-folder/runs.ts';
import { readSuiteFolder } from '../../evidence/suite/suite-folder.ts';
import type { Side } from '../compare-input.ts';
import { conditionValue } from './comparability.ts';

/** What is known about a version, the most telling fact first. Unknown facts are absent. */
export function factsOf(side: Side): VersionFact[] {
  const [first] = side.trials;
  const { target, provenance = {} } = first?.folder === undefined ? {} : readSuiteFolder(first.folder).request;
  const seen = (name: string): string | undefined => conditionValue(side, `provenance.${name}`) ?? undefined;
  const facts: readonly (readonly [name: string, value: string | undefined])[] = [
    ['agent', provenance.agent_id ?? (target?.kind === 'agent' ? target.name : undefined)],
    ['version', provenance.agent_version ?? (target?.kind === 'agent' ? target.version : undefined)],
    ['model', seen('model')],
    ['model version', provenance.model_version],
    ['prompt', seen('prompt_version')],
    ['parameters', seen('parameters')],
    ['tools', provenance.tools_version],
    ['commit', seen('commit')],
    ['image', seen('image')],
    ['target', target && shortTarget(target)],
  ];
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

function shortTarget(target: SuiteTarget): string {
  return targetName(target)
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '');
}

export interface NamelessVersion {
  readonly facts: readonly VersionFact[];
  /** The id of its first run, or the name of its baseline file. */
  readonly id: string;
}

/**
 * Short names that tell all versions apart: ids that people chose, else the first fact that differs everywhere, else the
 * fewest facts together, else these with the id.
 */
export function versionNames(versions: readonly NamelessVersion[]): string[] {
  const ids = versions.map(({ id }) => shortened(id, NAME_UNITS_MAX));
  if (versions.every(({ id }) => !RUN_ID.test(id)) && isDistinct(ids)) return ids;
  const differing = [...new Set(versions.flatMap(({ facts }) => facts.map(({ name }) => name)))].filter(
    name => new Set(versions.map(version => factIn(version, name))).size > 1,
  );
  const alone = differing.map(name => [name]);
  const together = differing.map((_, index) => differing.slice(0, index + 1));
  for (const fields of [...alone, ...together]) {
    const names = versions.map(version => joined(version, fields));
    if (names.every(name => name !== '') && isDistinct(names)) return names;
  }
  return numbered(
    versions.map(version =>
      [shortened(joined(version, differing), FACTS_UNITS_MAX), shortId(version.id)].filter(Boolean).join(' '),
    ),
  );
}

function factIn({ facts }: NamelessVersion, wanted: string): string | undefined {
  return facts.find(({ name }) => name === wanted)?.value;
}

function joined(version: NamelessVersion, fields: readonly string[]): string {
  return shortened(fields.flatMap(name => factIn(version, name) ?? []).join(' · '), NAME_UNITS_MAX);
}

/** The random part of a generated id; another id as it is. */
function shortId(id: string): string {
  return shortened(RUN_ID.test(id) ? (id.split('_').at(-1) ?? id) : id, ID_UNITS_MAX);
}

function isDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

function numbered(names: readonly string[]): string[] {
  return isDistinct(names) ? [...names] : names.map((name, index) => `${name} #${index + 1}`);
}

export const NAME_UNITS_MAX = 40;
/** Leaves room for the id and the number of the version. */
const FACTS_UNITS_MAX = 20;
const ID_UNITS_MAX = 16;
