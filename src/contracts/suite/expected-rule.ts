import { unsafePath } from '../../base/path.ts';
import { placeOf } from '../../base/place.ts';
import { TERMINATIONS, VIOLATION_CLASSES } from '../agent-step/words.ts';
import { CHECKS_MAX } from '../checks/shape.ts';
import { type Finding, must } from '../rule.ts';
import type { Expected } from './expected.ts';

export const EXPECTED_ASKS = [
  'expected, if present, is an object with the following keys',
  'contains, not_contains, must_include, must_not_include, regex and not_regex: a string or a list of strings, not empty',
  'tool_required, tool_sequence, tool_forbidden and action_required: a string or a list of strings, not empty',
  'equals: a string or an object; json_schema: an object',
  'json_path: a list; each entry has path and exactly one of exists (true or false), equals (any value) and regex',
  'the path of a json_path entry is $ followed by any number of .name, ["name"], [0] and [*]',
  'evidence_required_for_actions: true or false; retrieval_required: an object with doc_ids (a list of strings)',
  'max_latency_ms, max_ttft_ms and max_cost_usd: a non-negative number; max_steps: a non-negative integer',
  'script: an object with file (a string) and optionally timeout_ms (a non-negative number)',
  'semantic, tool_telemetry, planning_gate, repl_policy and assumption_state: objects that are stored but not evaluated',
  `termination: ${TERMINATIONS.slice(0, -1).join(', ')} or ${TERMINATIONS.at(-1)}`,
  'no_violations and no_flags: true or false; max_diff_lines: a non-negative integer',
  `allow_violations: one of the following, or a list of them: ${VIOLATION_CLASSES.slice(0, -1).join(', ')} and ${VIOLATION_CLASSES.at(-1)}`,
  'allow_violations and no_violations are not both present',
  'if termination is killed_policy, no_violations is false or allow_violations is present',
  'changed_only and not_changed: a relative path or a list of at most 100, each of at most 500 characters',
  'check: the name of a check of the case, or a list of 1 to 20 names',
  'tests: an object with passed_min, failed_max or both, non-negative integers',
];

/** Checks well-formed expectations. */
export function* expectedFindings(expected: Expected, at: string): Generator<Finding> {
  yield* pathFindings(expected.json_path ?? [], at);
  yield* agentFindings(expected, at);
}

function* pathFindings(json_path: NonNullable<Expected['json_path']>, at: string): Generator<Finding> {
  for (const [index, { path, ...asks }] of json_path.entries()) {
    const place = placeOf(`${at}.json_path`, index);
    if (!JSON_PATH.test(path)) {
      yield must(`${place}.path`, 'must be $ followed by any number of .name, ["name"], [0] and [*]');
    }
    if (['exists', 'equals', 'regex'].filter(key => Object.hasOwn(asks, key)).length !== 1) {
      yield must(place, 'must have exactly one of exists, equals and regex');
    }
  }
}

function* agentFindings(expected: Expected, at: string): Generator<Finding> {
  const { termination, no_violations, allow_violations } = expected;
  if (allow_violations !== undefined && no_violations !== undefined)
    yield must(`${at}.allow_violations`, 'must not be combined with no_violations');
  if (termination === 'killed_policy' && allow_violations === undefined && no_violations !== false)
    yield must(
      `${at}.termination`,
      'is killed_policy, which implies a violation: allow it with allow_violations or no_violations: false',
    );
  for (const key of ['changed_only', 'not_changed'] as const) {
    const asked = expected[key];
    if (asked !== undefined) yield* patternFindings(asked, `${at}.${key}`);
  }
  const { check, tests } = expected;
  // An empty list would turn off the rule that every check must pass.
  if (Array.isArray(check) && (check.length === 0 || check.length > CHECKS_MAX))
    yield must(`${at}.check`, `must have 1 to ${CHECKS_MAX} names`);
  if (tests && tests.passed_min === undefined && tests.failed_max === undefined)
    yield must(`${at}.tests`, 'must have passed_min or failed_max');
}

function* patternFindings(asked: string | readonly string[], at: string): Generator<Finding> {
  const patterns = typeof asked === 'string' ? [asked] : asked;
  if (patterns.length > PATTERNS_MAX) yield must(at, `must have at most ${PATTERNS_MAX} paths`);
  for (const [index, pattern] of patterns.slice(0, PATTERNS_MAX).entries()) {
    const place = typeof asked === 'string' ? at : placeOf(at, index);
    // A folder may end with a slash.
    const fault = unsafePath(pattern.replace(/\/$/, ''));
    if (fault) yield must(place, `must be a path inside the agent's folder, but ${fault}`);
    else if (pattern.length > PATTERN_LENGTH_MAX) yield must(place, `is longer than ${PATTERN_LENGTH_MAX} characters`);
  }
}

const PATTERNS_MAX = 100;
const PATTERN_LENGTH_MAX = 500;

const JSON_PATH = /^\$(?:\.[A-Za-z_][\w-]*|\[(?:\d{1,9}|\*|"(?:[^"\\]|\\.)*")\])*$/;
