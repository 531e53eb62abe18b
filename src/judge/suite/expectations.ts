import type { Assertion } from '../../contracts/evaluation/index.ts';
import { type Expected, OF_AGENT_RUNS } from '../../contracts/suite/index.ts';
import {
  allowViolations,
  changedOnly,
  maxDiffLines,
  notChanged,
  noFlags,
  noViolations,
  terminationIs,
} from './agent-run.ts';
import type { Answer } from './answer.ts';
import {
  actionRequired,
  evidenceRequired,
  retrievalRequired,
  toolForbidden,
  toolRequired,
  toolSequence,
} from './conduct.ts';
import { TooMuchHere } from './effort.ts';
import { jsonPath, judgeJsonSchema } from './json.ts';
import { type Judge, type Judgement, notJudged } from './judgement.ts';
import { maxCost, maxLatency, maxSteps } from './limits.ts';
import { contains, equals, mustInclude, mustNotInclude, notContains, notRegex, regex } from './texts.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** What was found of the expectations of a case. */
export interface JudgedExpectations {
  readonly assertions: Assertion[];
  /** One of them is broken itself, so that nobody can say whether the case passed. */
  readonly isBroken: boolean;
}

/**
 * Judges an answer by everything that its case expects, but for a script, which takes a world to run in. Throws
 * `TooMuchHere` if that takes too long for this thread.
 */
export function judgeAnswer(expected: Expected, answer: Answer): JudgedExpectations {
  const assertions: Assertion[] = [];
  let isBroken = false;
  const implied = impliedBy(expected, answer);
  for (const [name, judge] of answer.artifact.runner_failure ? JUDGES_OF_RUNS : JUDGES) {
    const asked = expected[name] ?? implied[name];
    if (asked === undefined) continue;
    answer.effort.begin();
    try {
      for (const judgement of judge(asked, answer)) {
        // What no case asks for is told where it does not hold, so that it counts as no proof where it does.
        if (expected[name] !== undefined || judgement.status === 'fail') assertions.push(named(name, judgement));
      }
    } catch (error) {
      if (error instanceof TooMuchHere) throw error;
      // One answer, however odd, must not take the verdicts on all others along.
      isBroken = true;
      assertions.push(named(name, notJudged(error instanceof Unjudgeable ? error.message : FAILED)));
    }
  }
  return { assertions, isBroken };
}

/** What is expected of every run of an agent's program, unless its case says otherwise. */
function impliedBy({ allow_violations }: Expected, { artifact }: Answer): Expected {
  if (!artifact.agent_run) return {};
  return { termination: 'completed', ...(allow_violations === undefined && { no_violations: true }) };
}

function named(name: Assertion['name'], { status, message, at }: Judgement): Assertion {
  return { name, status, message, at };
}

const FAILED = 'Proctor could not judge this, by a fault of its own.';

/** Kept for those who know them. */
const unknown = (): Iterable<ReturnType<typeof notJudged>> => [
  notJudged('Proctor keeps this expectation, and does not judge it.'),
];

/** Who judges which expectation, in the order in which assertions are listed. */
const EXPECTATIONS: { readonly [Key in Exclude<keyof Expected, 'script'>]-?: Judge<Key> } = {
  contains,
  not_contains: notContains,
  must_include: mustInclude,
  must_not_include: mustNotInclude,
  equals,
  regex,
  not_regex: notRegex,
  json_schema: judgeJsonSchema,
  json_path: jsonPath,
  tool_required: toolRequired,
  tool_sequence: toolSequence,
  tool_forbidden: toolForbidden,
  action_required: actionRequired,
  evidence_required_for_actions: evidenceRequired,
  retrieval_required: retrievalRequired,
  max_latency_ms: maxLatency,
  max_cost_usd: maxCost,
  max_steps: maxSteps,
  semantic: unknown,
  tool_telemetry: unknown,
  planning_gate: unknown,
  repl_policy: unknown,
  assumption_state: unknown,
  termination: terminationIs,
  no_violations: noViolations,
  allow_violations: allowViolations,
  changed_only: changedOnly,
  not_changed: notChanged,
  max_diff_lines: maxDiffLines,
  no_flags: noFlags,
};

const JUDGES = Object.entries(EXPECTATIONS) as readonly [
  Exclude<keyof Expected, 'script'>,
  (expected: unknown, answer: Answer) => ReturnType<Judge<keyof Expected>>,
][];

/** Of an agent that gave no answer, its run can be judged all the same. */
const JUDGES_OF_RUNS = JUDGES.filter(([name]) => (OF_AGENT_RUNS as readonly string[]).includes(name));
