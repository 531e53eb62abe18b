import path from 'node:path';
import { mountBelow, type MountRequest } from '../agent/mounts.ts';
import type { CheckOrder } from '../../contracts/checks/check-order.ts';
import { readChecks } from '../checks/read-checks.ts';

type NamedCheck = CheckOrder & { readonly name: string };

/** The checks of every case. An unnamed one is called `suite-1` and so on, so that it has one name in every case. */
export function suiteChecks(
  given: readonly CheckOrder[] | undefined,
  file: string | undefined,
  cwd: string,
): { readonly checks?: readonly NamedCheck[] } {
  const all = [...(given ?? []), ...(file === undefined ? [] : readChecks(file, cwd))];
  if (all.length === 0) return {};
  return {
    checks: all.map((check, index) => namedCheck(check, index, cwd)),
  };
}

function namedCheck(check: CheckOrder, index: number, cwd: string): NamedCheck {
  const { name = `suite-${index + 1}`, overlay, ...rest } = check;
  return { ...rest, name, ...(overlay !== undefined && { overlay: path.resolve(cwd, overlay) }) };
}

/** The mounts of every case. The plan stores their full paths, so that a run can be resumed from any folder. */
export function suiteMounts(
  given: readonly MountRequest[] | undefined,
  cwd: string,
): { readonly mounts?: readonly MountRequest[] } {
  return given && given.length > 0 ? { mounts: given.map(mount => mountBelow(mount, cwd)) } : {};
}
