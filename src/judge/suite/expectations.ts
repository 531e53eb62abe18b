import type { Assertion } from '../../contracts/evaluation/index.ts';
import { type Expected, OF_AGENT_RUNS } from '../../contracts/suite/index.ts';
import { checkPasses, testCounts } from './agent-checks.ts';
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
import { maxCost, maxLatency, maxSteps, maxTtft } from './limits.ts';
import { contains, equals, mustInclude, mustNotInclude, notContains, notRegex, regex } from './texts.ts';
import { Unjudgeable } from './unjudgeable.ts';

/** The results for a case's expectations. */
export interface JudgedExpectations {
  readonly assertions: Assertion[];
  /** An expectation is invalid, so the case has no verdict. */
  readonly isBroken: boolean;
}

/**
 * Judges an answer by its case's expectations, except check scripts, which need a sandbox. Throws `TooMuchHere` if
 * that takes too long for this thread.
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
        // An implicit expectation is listed only if it fails, so that it never counts as evidence of a pass.
        if (expected[name] !== undefined || judgement.status === 'fail') assertions.push(named(name, judgement));
      }
    } catch (error) {
      if (error instanceof TooMuchHere) throw error;
      // An internal error on one answer must not discard the verdicts on the others.
      isBroken = true;
      assertions.push(named(name, notJudged(error instanceof Unjudgeable ? error.message : FAILED)));
    }
  }
  return { assertions, isBroken };
}

/** Applies to every run of an agent program, unless its case overrides it. */
function impliedBy({ allow_violations }: Expected, { artifact }: Answer): Expected {
  if (!artifact.agent_run) return {};
  return { termination: 'completed', ...(allow_violations === undefined && { no_violations: true }) };
}

function named(name: Assertion['name'], { status, message, at }: Judgement): Assertion {
  return { name, status, message, at };
}

const FAILED = 'Proctor could not judge this because of an internal error.';

/** Kept for other tools that understand them. */
const unknown = (): Iterable<ReturnType<typeof notJudged>> => [
  notJudged('Proctor stores this expectation but does not judge it.'),
];

/** Each expectation's judge, in the order in which assertions are listed. */
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
  max_ttft_ms: maxTtft,
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
  check: checkPasses,
  tests: testCounts,
};

const JUDGES = Object.entries(EXPECTATIONS) as readonly [
  Exclude<keyof Expected, 'script'>,
  (expected: unknown, answer: Answer) => ReturnType<Judge<keyof Expected>>,
][];

/** An agent's run can be judged even if it gave no answer. */
const JUDGES_OF_RUNS = JUDGES.filter(([name]) => (OF_AGENT_RUNS as readonly string[]).includes(name));
