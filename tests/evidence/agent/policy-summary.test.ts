import { describe, expect, test } from 'vitest';
import { builtInPolicies } from '../../../src/contracts/agent-policy/index.ts';
import { policySummary as contract, type PolicyViolation } from '../../../src/contracts/agent-step/index.ts';
import { policySummaryOf } from '../../../src/evidence/agent/policy-summary.ts';
import { effectivePolicy, requestedFrom } from '../../../src/policy/agent-policy.ts';
import { judged } from '../../support/support.ts';

const requested = requestedFrom({}, builtInPolicies.edit);
const { effective, appliedOverrides } = effectivePolicy(requested, { approval_posture: 'fail_on_prompt' });
const facts = {
  requested,
  effective,
  appliedOverrides,
  observed: (['network', 'file_system', 'environment', 'privileges'] as const).map(what => ({
    what,
    held: true,
    note: `The ${what} held.`,
  })),
  capabilityNotes: ['network_posture: the sandbox'],
  violations: [],
  enforcementNotes: ['The diff of the work tree holds no forbidden path.'],
};

describe('a policy summary', () => {
  test('is valid, and reports sandbox checks by policy dimension', async () => {
    const summary = policySummaryOf(facts);
    expect(await judged(contract, summary, { strict: true })).toMatchObject({ outcome: 'valid', advice: [] });
    expect(summary.observed).toEqual([
      { dimension: 'network_posture', held: true, note: 'The network held.' },
      { dimension: 'allowed_paths', held: true, note: 'The file_system held.' },
    ]);
    expect(summary.applied_overrides).toEqual([
      { dimension: 'approval_posture', note: 'Tightened from deny_interactive to fail_on_prompt for this run.' },
    ]);
  });

  test('lists at most 1,000 violations and counts the rest', async () => {
    const violation: PolicyViolation = { class: 'native_policy_block', message: 'A write was denied.', hard: true };
    const summary = policySummaryOf({ ...facts, violations: Array.from({ length: 1_203 }, () => violation) });
    expect(summary.violations).toHaveLength(1_000);
    expect(summary.enforcement_notes.at(-1)).toBe('203 more violations are not listed.');
    expect(await judged(contract, summary, { strict: true })).toMatchObject({ outcome: 'valid' });
  });
});
