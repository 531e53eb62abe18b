/** A version as its three numbers. */
type Numbers = readonly [number, number, number];

/** What is true of a range of versions: from one, up to and without another. */
export interface Row {
  readonly from: Numbers;
  readonly before: Numbers;
}

/** The row of a version; undefined if nobody has tried one like it. Pre-releases are like nothing. */
export function rowOf<One extends Row>(rows: readonly One[], version: string): One | undefined {
  const [, ...parts] = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(version) ?? [];
  const [major, minor, patch] = parts.map(Number);
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  const numbers: Numbers = [major, minor, patch];
  return rows.find(({ from, before }) => !isLess(numbers, from) && isLess(numbers, before));
}

function isLess(a: Numbers, b: Numbers): boolean {
  for (const index of [0, 1, 2] as const) if (a[index] !== b[index]) return a[index] < b[index];
  return false;
}
