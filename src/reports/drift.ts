import type { Comparison } from '../contracts/comparison/index.ts';
import { casesNote } from './changes.ts';

/** A difference between the two sides other than the agent, in words. */
export interface Drift {
  readonly of: string;
  readonly changes: readonly Change[];
  /** Fields that this difference implies. */
  readonly note?: string;
}

interface Change {
  readonly name: string;
  readonly baseline: string;
  readonly new: string;
}

type Field = Comparison['comparability']['fields'][number];

/** The fields that differ, in groups. Lists each change once: a timeout is a setting, a limit and a part of a hash. */
export function driftGroups(comparison: Pick<Comparison, 'comparability' | 'cases'>): Drift[] {
  const { fields } = comparison.comparability;
  const said = new Set<string>();
  const groups = GROUPS.map(([of, prefix]) => {
    const ofGroup = fields.filter(({ field }) => field.startsWith(prefix));
    // The idle timeout defaults to the timeout, so it comes last and is dropped if both changed in the same way.
    const changes = sortedLast(ofGroup, ({ field }) => field === 'settings.idle_timeout_ms');
    return { of, changes: changes.map(one => changeOf(one, prefix)).filter(change => isNews(change, said)) };
  });
  const others = fields.filter(({ field }) => !GROUPS.some(([, prefix]) => field.startsWith(prefix)));
  const isExplained = fields.some(({ field }) => field.startsWith('policy.'));
  const notes: Readonly<Record<string, string | undefined>> = {
    environment_hash: isExplained ? COVERS : undefined,
    cases_sha256: casesNote(comparison),
  };
  return [
    ...groups.filter(({ changes }) => changes.length > 0),
    ...others.map(one => driftIn(one, Object.hasOwn(notes, one.field) ? notes[one.field] : undefined)),
  ];
}

function driftIn(one: Field, note: string | undefined): Drift {
  const drift = { of: NAMES.get(one.field) ?? one.field, changes: [changeOf(one, one.field)] };
  return note === undefined ? drift : { ...drift, note };
}

const GROUPS: readonly (readonly [of: string, prefix: string])[] = [
  ['agent', 'provenance.'],
  ['settings', 'settings.'],
  ['work', 'work.'],
  ['limits', 'policy.limits.'],
  ['sandbox', 'policy.sandbox.'],
];

const NAMES: ReadonlyMap<string, string> = new Map([
  ['environment_hash', 'environment'],
  ['cases_sha256', 'cases'],
  ['target.kind', 'kind of target'],
]);

const COVERS = 'a hash that also covers the limits and the sandbox';

function changeOf({ field, baseline, new: now }: Field, prefix: string): Change {
  return { name: field.slice(prefix.length), baseline: short(baseline), new: short(now) };
}

function sortedLast(fields: readonly Field[], isLast: (field: Field) => boolean): Field[] {
  return [...fields.filter(field => !isLast(field)), ...fields.filter(isLast)];
}

function isNews({ name, baseline, new: now }: Change, said: Set<string>): boolean {
  const key = `${name.replace('idle_timeout', 'timeout')} ${baseline} ${now}`;
  if (said.has(key)) return false;
  said.add(key);
  return true;
}

/** The first characters identify a hash. */
function short(value: string | null): string {
  return value === null ? 'unknown' : value.replace(/sha256:([a-f0-9]{12})[a-f0-9]{52}/g, '$1…');
}
