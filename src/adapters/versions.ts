type Numbers = readonly [number, number, number];

/** A range of versions with the same flags. `before` is exclusive. */
export interface Row {
  readonly from: Numbers;
  readonly before: Numbers;
}

/** `known`: in a tested range. `newer`: newer than all tested versions. `unknown`: anything else. */
export type VersionStanding = 'known' | 'newer' | 'unknown';

/** Compares a version with the tested ones. Pre-releases are unknown. */
export function versionStanding(rows: readonly Row[], newestTried: string, version: string): VersionStanding {
  const numbers = numbersIn(version);
  const newest = numbersIn(newestTried);
  if (numbers && newest && isLess(newest, numbers)) return 'newer';
  return rowOf(rows, version) ? 'known' : 'unknown';
}

/** The tested range that contains a version, if any. */
export function rowOf<One extends Row>(rows: readonly One[], version: string): One | undefined {
  const numbers = numbersIn(version);
  return numbers && rows.find(({ from, before }) => !isLess(numbers, from) && isLess(numbers, before));
}

function numbersIn(version: string): Numbers | undefined {
  const [, ...parts] = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(version) ?? [];
  const [major, minor, patch] = parts.map(Number);
  return major === undefined || minor === undefined || patch === undefined ? undefined : [major, minor, patch];
}

function isLess(a: Numbers, b: Numbers): boolean {
  for (const index of [0, 1, 2] as const) if (a[index] !== b[index]) return a[index] < b[index];
  return false;
}
