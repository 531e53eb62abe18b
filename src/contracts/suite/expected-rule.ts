import { placeOf } from '../../base/place.ts';
import { type Finding, must } from '../rule.ts';
import type { Expected } from './expected.ts';

export const EXPECTED_ASKS = [
  'expected, if present, is an object, and its keys are among those below',
  'contains, not_contains, must_include, must_not_include, regex and not_regex: a text or a list of texts, none empty',
  'tool_required, tool_sequence, tool_forbidden and action_required: a text or a list of texts, none empty',
  'equals: a string or an object; json_schema: an object',
  'json_path: a list; each has path, and may have exists (true or false), equals (anything) or regex (a text)',
  'path begins with $, then .name, ["name"], [0] or [*] as often as needed',
  'a json_path has one of exists, equals and regex',
  'evidence_required_for_actions: true or false; retrieval_required: an object with doc_ids, a list of texts',
  'max_latency_ms and max_cost_usd: a number from 0 up; max_steps: a whole number from 0 up',
  'script: an object with file, a text, and perhaps timeout_ms, a number from 0 up',
  'semantic, tool_telemetry, planning_gate, repl_policy and assumption_state: objects that are kept and not judged',
];

/** What is wrong with expectations that have their shape. */
export function* expectedFindings({ json_path = [] }: Expected, at: string): Generator<Finding> {
  for (const [index, { path, ...asks }] of json_path.entries()) {
    const place = placeOf(`${at}.json_path`, index);
    if (!JSON_PATH.test(path)) {
      yield must(`${place}.path`, 'must be $ and then .name, ["name"], [0] or [*] as often as needed');
    }
    if (['exists', 'equals', 'regex'].filter(key => Object.hasOwn(asks, key)).length !== 1) {
      yield must(place, 'must have exactly one of exists, equals and regex');
    }
  }
}

const JSON_PATH = /^\$(?:\.[A-Za-z_][\w-]*|\[(?:\d{1,9}|\*|"(?:[^"\\]|\\.)*")\])*$/;
