import { counted } from '../../base/counted.ts';
import type { AgentRunNote, CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { OF_AGENT_RUNS } from '../../contracts/suite/index.ts';
import { terminationText, violationText } from '../suite/agent-run.ts';
import { type Difference, WEIGHT } from './difference.ts';
import { otherChecks } from './check-difference.ts';
import { quotedList } from './quoted.ts';

/** How two runs of an agent program differ in what a failed expectation checks. */
export function runDifference(
  baseline: CaseArtifact,
  candidate: CaseArtifact,
  failing: readonly string[],
): Difference | undefined {
  const { agent_run: was } = baseline;
  const { agent_run: is } = candidate;
  if (!was || !is) return undefined;
  for (const [names, differenceOf] of DIFFERENCES) {
    const name = names.find(one => failing.includes(one));
    const difference = name && differenceOf(was, is);
    if (!difference) continue;
    const newAt = candidate.runner_failure ? 'runner_failure' : null;
    const plainly = `Certain, because the failed expectation (${name}) is about it.`;
    return { ...difference, baselineAt: null, newAt, plainly, order: 0, weight: WEIGHT.otherwise, isMet: true };
  }
  return undefined;
}

type Told = Pick<Difference, 'kind' | 'says' | 'atMost'> | undefined;

const DIFFERENCES: readonly (readonly [
  readonly (typeof OF_AGENT_RUNS)[number][],
  (was: AgentRunNote, is: AgentRunNote) => Told,
])[] = [
  [['no_violations', 'allow_violations'], otherViolations],
  [['termination'], otherTermination],
  [['check', 'tests'], otherChecks],
  [['changed_only', 'not_changed'], otherFiles],
  [['max_diff_lines'], moreLines],
  [['no_flags'], otherFlags],
];

function otherViolations(was: AgentRunNote, is: AgentRunNote): Told {
  const known = new Set(was.violations.listed.map(violationText));
  const added = is.violations.listed.map(violationText).find(one => !known.has(one));
  if (added === undefined) return undefined;
  return { kind: 'policy', says: `The candidate has a violation that the baseline does not have: ${added}` };
}

function otherTermination(was: AgentRunNote, is: AgentRunNote): Told {
  if (was.reason === is.reason) return undefined;
  const says = `The candidate ended as ${terminationText(is)} where the baseline ended as ${terminationText(was)}`;
  return { kind: is.termination === 'killed_policy' ? 'policy' : 'runner', says };
}

function otherFiles(was: AgentRunNote, is: AgentRunNote): Told {
  const known = new Set(was.changes?.files.listed.map(({ path }) => path));
  const added = (is.changes?.files.listed ?? []).map(({ path }) => path).filter(path => !known.has(path));
  if (added.length === 0) return undefined;
  return { kind: 'output', says: `The candidate changed files that the baseline did not: ${quotedList(added)}` };
}

function moreLines(was: AgentRunNote, is: AgentRunNote): Told {
  const [before, now] = [linesOf(was), linesOf(is)];
  if (before === null || now === null || now <= before) return undefined;
  return { kind: 'output', says: `The candidate changed ${counted(now, 'line')} where the baseline changed ${before}` };
}

function linesOf({ changes }: AgentRunNote): number | null {
  if (!changes || changes.added === null || changes.removed === null) return null;
  return changes.added + changes.removed;
}

function otherFlags(was: AgentRunNote, is: AgentRunNote): Told {
  const known = new Set(was.flags.map(({ flag }) => flag));
  const added = is.flags.map(({ flag }) => flag).filter(flag => !known.has(flag));
  if (added.length === 0) return undefined;
  return { kind: 'output', says: `The candidate has flags that the baseline does not have: ${quotedList(added)}` };
}
