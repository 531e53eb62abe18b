import { describe, expect, test } from 'vitest';
import { projectConfig } from '../../../src/verbs/config.ts';
import { PROJECT, projectFolder } from './world.ts';

/** The gate settings of a suite whose gate is `below`, in a project whose gate is `above`. */
function gateOf(above: string, below: string): Record<string, unknown> {
  const text = PROJECT.replace('target: desk', `target: desk\n    gate: ${below}`);
  const { suites } = projectConfig({ cwd: projectFolder(text.replace(/^gate: .*$/m, `gate: ${above}`)) });
  const settings = suites[0]?.settings.filter(({ key }) => key.startsWith('gate.')) ?? [];
  return Object.fromEntries(settings.map(({ key, value, from }) => [key, `${String(value)} ${from}`]));
}

describe('the gate of a suite', () => {
  test('keeps the top-level limits and tolerances that it does not override', () => {
    const above = '{ limits: { max_failing: 0, max_flaky: 1 }, tolerances: { score: { max_decrease: 0.1 } } }';
    expect(gateOf(above, '{ limits: { max_flaky: 2 }, tolerances: { cost_usd: { max_increase: 1 } } }')).toEqual({
      'gate.limits.max_failing': '0 proctor.yaml:20',
      'gate.limits.max_flaky': '2 proctor.yaml:19',
      'gate.tolerances.score.max_decrease': '0.1 proctor.yaml:20',
      'gate.tolerances.cost_usd.max_increase': '1 proctor.yaml:19',
      'gate.mode': 'balanced default',
    });
  });

  test('keeps the top-level limits of tags', () => {
    const above = '{ per_tag: { billing: { max_failing: 0 }, login: { max_failing: 0 } } }';
    expect(gateOf(above, '{ mode: strict, per_tag: { billing: { max_flaky: 0 } } }')).toEqual({
      'gate.per_tag.billing.max_failing': '0 proctor.yaml:20',
      'gate.per_tag.billing.max_flaky': '0 proctor.yaml:19',
      'gate.per_tag.login.max_failing': '0 proctor.yaml:20',
      'gate.mode': 'strict proctor.yaml:19',
    });
  });
});
