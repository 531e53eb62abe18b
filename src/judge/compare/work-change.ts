import { canonicalize } from '../../base/canonical.ts';
import { placeOf } from '../../base/place.ts';
import { nameOfCheck, type WrittenCheck } from '../../contracts/checks/shape.ts';
import { CODING_KEYS, type SuiteCase } from '../../contracts/suite/index.ts';
import { all } from '../suite/judgement.ts';
import type { Draft } from './case-change.ts';

/** How the work of a case differs: what the agent starts from, its limits, and the checks that must pass. */
export function* workDifferences(was: SuiteCase, is: SuiteCase): Generator<Draft> {
  for (const key of CODING_KEYS) {
    if (key !== 'checks' && textOf(was[key]) !== textOf(is[key]))
      yield { what: 'input', at: key, was: was[key], is: is[key] };
  }
  yield* checkDifferences(checksOf(was), checksOf(is));
  yield* requiredDifferences(requiredOf(was), requiredOf(is), checksOf(was), checksOf(is));
}

type Checks = ReadonlyMap<string, WrittenCheck>;

function checksOf({ checks = [] }: SuiteCase): Checks {
  return new Map(checks.map((check, index) => [nameOfCheck(check, index), check]));
}

/** A changed check counts as lost, because Proctor cannot tell whether the new one is as strict. */
function* checkDifferences(was: Checks, is: Checks): Generator<Draft> {
  for (const [name, check] of was) {
    if (textOf(check) !== textOf(is.get(name)))
      yield { what: 'lost', at: placeOf('checks', name), was: check, is: is.get(name) };
  }
  for (const [name, check] of is)
    if (!was.has(name)) yield { what: 'added', at: placeOf('checks', name), was: undefined, is: check };
}

/** Without check and tests, every check must pass. */
function requiredOf({ expected = {}, checks = [] }: SuiteCase): readonly string[] {
  if (expected.check !== undefined) return all(expected.check);
  return expected.tests ? [] : checks.map(nameOfCheck);
}

/** Checks that exist on both sides but are required on one only. */
function* requiredDifferences(
  was: readonly string[],
  is: readonly string[],
  before: Checks,
  now: Checks,
): Generator<Draft> {
  const isOfCase = (name: string): boolean => before.has(name) === now.has(name);
  for (const name of was.filter(one => !is.includes(one) && isOfCase(one)))
    yield { what: 'lost', at: 'expected.check', was: name, is: undefined };
  for (const name of is.filter(one => !was.includes(one) && isOfCase(one)))
    yield { what: 'added', at: 'expected.check', was: undefined, is: name };
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalize(value);
}
