/** A version as its three numbers. */
type Numbers = readonly [number, number, number];

/** What is true of a range of versions: from one, up to and without another. */
export interface Row {
  readonly from: Numbers;
  readonly before: Numbers;
}

/** `known`: like one that was tried; `newer`: than all that were tried; `unknown`: anything else. */
export type Standing = 'known' | 'newer' | 'unknown';

/** How a version stands to those that were tried. Pre-releases are like nothing. */
export function standingOf(rows: readonly Row[], newestTried: string, version: string): Standing {
  const numbers = numbersIn(version);
  const newest = numbersIn(newestTried);
  if (numbers && newest && isLess(newest, numbers)) return 'newer';
  return rowOf(rows, version) ? 'known' : 'unknown';
}

/** The row of a version; undefined if nobody has tried one like it. */
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
