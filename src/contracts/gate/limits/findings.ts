import { placeOf } from '../../../base/place.ts';
import { type Finding, must } from '../../rule.ts';
import { formOf } from '../../form.ts';
import { type AskedLimits, askedLimits } from './shape.ts';

/** The requirements shared by all documents that contain limits. */
export const LIMIT_ASKS = [
  'limits, if present, has at least one of min_pass_rate, max_failing, max_flaky, max_unjudged, max_missing, max_cost_usd and max_latency_ms',
  'per_suite, per_tag and per_severity, if present, are objects; each key names a suite, tag or severity, and each value has the form of limits',
  'min_pass_rate is a number from 0 to 1; counts are non-negative integers; max_cost_usd and max_latency_ms are non-negative numbers',
  'each of per_suite, per_tag and per_severity has at most 100 keys, each of 1 to 200 characters',
];

/** Finds empty limits, and too many or badly named groups. */
export function* limitFindings(asked: AskedLimits, at: string): Generator<Finding> {
  const place = (key: string): string => (at === '' ? key : `${at}.${key}`);
  if (asked.limits && Object.keys(asked.limits).length === 0) yield must(place('limits'), 'must have a limit');
  for (const key of ['per_suite', 'per_tag', 'per_severity'] as const) {
    const groups = Object.entries(asked[key] ?? {});
    if (groups.length > GROUPS_MAX) yield must(place(key), `must have at most ${GROUPS_MAX} keys`);
    for (const [name, limits] of groups) {
      const where = placeOf(place(key), name);
      if (name.trim() === '' || name.length > NAME_UNITS_MAX)
        yield must(where, `must have a name of 1 to ${NAME_UNITS_MAX} characters`);
      if (Object.keys(limits).length === 0) yield must(where, 'must have a limit');
    }
  }
}

/** The value as limits, if it is valid. */
export function soundLimits(value: unknown): AskedLimits | undefined {
  if (!formOf(askedLimits).fits(value)) return undefined;
  return [...limitFindings(value as AskedLimits, '')].length === 0 ? (value as AskedLimits) : undefined;
}

const GROUPS_MAX = 100;
const NAME_UNITS_MAX = 200;
