import { hostPathIn } from '../../base/path.ts';
import { printable } from '../../base/printable.ts';
import { holdsSecret } from '../../base/redact.ts';
import type { Flag } from '../../contracts/agent-evaluation/index.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';

/** What an agent did to the checks of its work: it changed files that they need, or passes only with such changes. */
export function checkFlags(checks: readonly CheckResult[]): Flag[] {
  const changed = new Map(
    checks.flatMap(({ restored }) => restored.listed.map(({ path, change }) => [path, change] as const)),
  );
  const kept = new Map(
    checks.flatMap(({ kept: files }) => (files?.listed ?? []).map(({ path, change }) => [path, change] as const)),
  );
  const differs = checks.filter(({ reason }) => reason === 'second_look_differs').map(({ name }) => name);
  return [
    ...(changed.size === 0 ? [] : [{ flag: 'check_file_changed', message: changedText(changed), seq: null } as const]),
    ...(kept.size === 0 ? [] : [{ flag: 'check_file_kept', message: keptText(kept), seq: null } as const]),
    ...(differs.length === 0
      ? []
      : [
          {
            flag: 'second_look_differs',
            message: `${namesText(differs)} with everything that the agent left, but not with its changes to the declared paths alone.`,
            seq: null,
          } as const,
        ]),
  ];
}

function changedText(changed: ReadonlyMap<string, string>): string {
  return `The agent changed files that its checks need, and Proctor put them back: ${filesText(changed)}.`;
}

function keptText(kept: ReadonlyMap<string, string>): string {
  return `The agent changed files that its checks need, and "keep" allows it: ${filesText(kept)}.`;
}

function filesText(changed: ReadonlyMap<string, string>): string {
  const safe = [...changed].filter(([path]) => Buffer.byteLength(printable(path)) <= NAME_BYTES_MAX && isPublic(path));
  const shown = safe.slice(0, NAMES_MAX).map(([path, change]) => `${printable(path)} (${change})`);
  const more = changed.size - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

const NAMES_MAX = 3;
const NAME_BYTES_MAX = 50;

function isPublic(path: string): boolean {
  return hostPathIn(path) === undefined && !holdsSecret(path);
}

function namesText(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).join(', ');
  return names.length === 1
    ? `The check ${shown} passes`
    : `The checks ${shown}${names.length > NAMES_MAX ? ' …' : ''} pass`;
}
