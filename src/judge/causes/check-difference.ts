import type { AgentRunNote, CheckInCase } from '../../contracts/artifacts/index.ts';
import type { Difference } from './difference.ts';
import { quotedList } from './quoted.ts';

type Told = Pick<Difference, 'kind' | 'says' | 'atMost'> | undefined;

/** What broke in the checks between two runs: tests that fail now, checks that no longer pass, or suspected cheating. */
export function otherChecks(was: AgentRunNote, is: AgentRunNote): Told {
  const before = new Map((was.checks ?? []).map(check => [check.name, check]));
  const cheat = suspicion(was, is);
  for (const check of is.checks ?? []) {
    const old = before.get(check.name);
    if (check.verdict === 'passed' || !old) continue;
    if (old.overlay_sha256 !== check.overlay_sha256)
      return {
        kind: 'checks',
        says: `The hidden files of the check ${check.name} differ between the two sides`,
        atMost: 'medium',
      };
    const says = brokenIn(old, check);
    if (says !== undefined) return { kind: 'checks', says: cheat === undefined ? says : `${says}. ${cheat}` };
  }
  return cheat === undefined ? undefined : { kind: 'checks', says: cheat };
}

function brokenIn(old: CheckInCase, check: CheckInCase): string | undefined {
  const { name, reason } = check;
  const failing = newlyFailing(old, check);
  if (failing.length > 0)
    return `Tests of the check ${name} fail in the candidate but not in the baseline: ${quotedList(failing)}`;
  if (old.verdict === 'passed') return `The check ${name} passes in the baseline but not in the candidate (${reason})`;
  const [before, now] = [old.tests?.failed, check.tests?.failed];
  if (before === undefined || now === undefined || now <= before) return undefined;
  return `${now} tests of the check ${name} fail in the candidate, and ${before} in the baseline`;
}

/** Empty if the baseline does not list all its failures, because a name that is not listed may have failed there too. */
function newlyFailing({ tests: was }: CheckInCase, { tests: is }: CheckInCase): string[] {
  if (!was || !is || was.failures.length < was.failed) return [];
  const known = new Set(was.failures);
  return is.failures.filter(name => !known.has(name));
}

/** A flag about the checks that only the candidate has. */
function suspicion(was: AgentRunNote, is: AgentRunNote): string | undefined {
  const known = new Set(was.flags.map(({ flag }) => flag));
  const flag = CHEATS.find(one => !known.has(one) && is.flags.some(({ flag: told }) => told === one));
  return flag === undefined ? undefined : `The agent is suspected of cheating (${flag})`;
}

const CHEATS: readonly string[] = ['second_look_differs', 'check_file_changed'];
