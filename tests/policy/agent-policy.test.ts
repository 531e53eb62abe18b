import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/base/fault.ts';
import { type AgentPolicy, builtInPolicies, OPERATIONS } from '../../src/contracts/agent-policy/index.ts';
import { policySummary as contract } from '../../src/contracts/agent-step/index.ts';
import { loosened, POSTURES, type RequestedPolicy } from '../../src/contracts/agent-step/policy.ts';
import { check } from '../../src/contracts/check.ts';
import { policySummaryOf } from '../../src/evidence/agent/policy-summary.ts';
import { effectivePolicy, requestedFrom, SYSTEM_SETTINGS } from '../../src/policy/agent-policy.ts';

const { 'read-only': readOnly, edit, open } = builtInPolicies;

function refusal(requested: RequestedPolicy, overrides: RequestedPolicy): string {
  try {
    effectivePolicy(requested, overrides);
  } catch (fault) {
    if (fault instanceof Fault) return `${fault.code}: ${fault.message}`;
    throw fault;
  }
  return 'accepted';
}

describe('a requested policy', () => {
  test('defaults to the strictest', () => {
    const { effective, notes } = effectivePolicy(requestedFrom({}, undefined));
    expect(effective).toEqual({
      execution_posture: 'read_only',
      network_posture: 'deny',
      approval_posture: 'fail_on_prompt',
      allowed_paths: [],
      forbidden_paths: [],
      forbidden_operations: [],
      policy_reference: null,
    });
    expect(notes).toEqual([
      'execution_posture: not requested, so it is read_only',
      'network_posture: not requested, so it is deny',
      'approval_posture: not requested, so it is fail_on_prompt',
    ]);
  });

  test('takes each value from the last layer that sets it, and accumulates what is forbidden', () => {
    const policy: AgentPolicy = {
      name: 'mine',
      extends: 'edit',
      allowed_paths: ['src', 'docs'],
      forbidden_paths: ['src/generated'],
      forbidden_operations: ['delete'],
    };
    const step: RequestedPolicy = {
      approval_posture: 'fail_on_prompt',
      network_posture: null,
      allowed_paths: ['src'],
      forbidden_operations: ['commit', 'push'],
    };
    const settings: RequestedPolicy = { ...SYSTEM_SETTINGS, forbidden_paths: ['.github'] };
    expect(requestedFrom(settings, policy, step)).toEqual({
      execution_posture: 'workspace_write',
      network_posture: 'deny',
      approval_posture: 'fail_on_prompt',
      allowed_paths: ['src'],
      forbidden_paths: ['.github', 'src/generated'],
      forbidden_operations: ['push', 'force', 'delete', 'commit'],
      policy_reference: 'mine',
    });
  });

  test('matches the built-in policy that it names', () => {
    const decidedBy = (policy: AgentPolicy) => effectivePolicy(requestedFrom(SYSTEM_SETTINGS, policy)).effective;
    expect(decidedBy(readOnly)).toMatchObject({ execution_posture: 'read_only', allowed_paths: [] });
    expect(decidedBy(edit)).toMatchObject({
      execution_posture: 'workspace_write',
      network_posture: 'deny',
      allowed_paths: ['.'],
      forbidden_operations: ['force', 'push'],
    });
    expect(decidedBy(open)).toMatchObject({
      network_posture: 'allow',
      approval_posture: 'bounded_auto_approve',
      forbidden_operations: [],
    });
  });
});

describe('an override', () => {
  const asked = requestedFrom(SYSTEM_SETTINGS, { ...open, allowed_paths: ['src', 'docs/a'] });

  test('tightens the policy and is reported', () => {
    const { effective, appliedOverrides } = effectivePolicy(asked, {
      network_posture: 'deny',
      allowed_paths: ['src/base', 'docs', 'tests'],
      forbidden_operations: ['push'],
    });
    expect(effective).toMatchObject({
      network_posture: 'deny',
      allowed_paths: ['docs/a', 'src/base'],
      forbidden_operations: ['push'],
    });
    expect(appliedOverrides).toEqual([
      { dimension: 'network_posture', note: 'Tightened from allow to deny for this run.' },
      { dimension: 'allowed_paths', note: 'Restricted to the paths that this run allows.' },
      { dimension: 'forbidden_operations', note: 'Also forbidden for this run: 1.' },
    ]);
  });

  test('that leaves no path allows nothing, not everything', () => {
    const { effective, notes } = effectivePolicy(asked, { allowed_paths: ['srcs', 'doc'] });
    expect(effective.allowed_paths).toEqual([]);
    expect(notes).toEqual(['allowed_paths: none are left, so nothing may be changed']);
    expect(effectivePolicy(asked, { allowed_paths: [] }).effective.allowed_paths).toEqual([]);
    expect(effectivePolicy({ ...asked, allowed_paths: [] }).effective.allowed_paths).toEqual([]);
  });

  test('that forbids an allowed path removes it', () => {
    const { effective, notes } = effectivePolicy(asked, { forbidden_paths: ['./docs'] });
    expect(effective).toMatchObject({ allowed_paths: ['src'], forbidden_paths: ['docs'] });
    expect(notes).toEqual(['allowed_paths: paths inside forbidden_paths are not allowed']);
  });

  test('to read_only leaves nothing to write and nothing to approve', () => {
    const { effective } = effectivePolicy(asked, { execution_posture: 'read_only' });
    expect(effective).toMatchObject({ allowed_paths: [], approval_posture: 'deny_interactive' });
  });

  test('that loosens the policy is refused with both values', () => {
    expect(refusal(requestedFrom({}, edit), { network_posture: 'allow' })).toBe(
      'looser_override: Cannot loosen network_posture from deny to allow: a run can only tighten its policy. Use a policy that allows it.',
    );
    expect(refusal(requestedFrom({}, readOnly), { execution_posture: 'workspace_write' })).toContain(
      'Cannot loosen execution_posture from read_only to workspace_write',
    );
    expect(refusal({}, { approval_posture: 'deny_interactive' })).toContain('from fail_on_prompt to deny_interactive');
    expect(refusal(requestedFrom({}, edit), { network_posture: 'deny' })).toBe('accepted');
  });
});

const anyPath = fc
  .array(fc.constantFrom('a', 'b', 'ab', '.', 'src'), { minLength: 1, maxLength: 4 })
  .chain(segments => fc.constantFrom('/', '\\').map(slash => segments.join(slash)));
const paths = fc.option(fc.array(anyPath, { maxLength: 4 }), { nil: null });
const operations = fc.option(fc.subarray([...OPERATIONS]), { nil: null });
const anyRequest: fc.Arbitrary<RequestedPolicy> = fc.record(
  {
    execution_posture: fc.constantFrom(null, ...POSTURES.execution_posture),
    network_posture: fc.constantFrom(null, ...POSTURES.network_posture),
    approval_posture: fc.constantFrom(null, ...POSTURES.approval_posture),
    allowed_paths: paths,
    forbidden_paths: paths,
    forbidden_operations: operations,
  },
  { requiredKeys: [] },
);

describe('an effective policy', () => {
  test('is never looser than the request or the override, as the policy summary requires', () => {
    let decidedCount = 0;
    fc.assert(
      fc.property(anyRequest, anyRequest, anyRequest, anyRequest, (settings, policy, step, overrides) => {
        const requested = requestedFrom({ ...settings, ...policy }, undefined, step);
        if (refusal(requested, overrides) !== 'accepted') return;
        decidedCount++;
        const { effective, appliedOverrides, notes } = effectivePolicy(requested, overrides);
        expect([...loosened(requested, effective)]).toEqual([]);
        // An override that omits a dimension does not request its strictest value.
        expect([...loosened({ ...effective, ...said(overrides) }, effective)]).toEqual([]);
        const summary = policySummaryOf({
          requested,
          effective,
          appliedOverrides,
          observed: [],
          capabilityNotes: notes,
          violations: [],
          enforcementNotes: [],
        });
        expect(check(contract, summary, { strict: true, internal: false }).violations).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
    expect(decidedCount).toBeGreaterThan(200);
  });

  test('does not change when it is requested as a policy itself', () => {
    fc.assert(
      fc.property(anyRequest, requested => {
        const { effective } = effectivePolicy(requested);
        expect(effectivePolicy(effective).effective).toEqual(effective);
      }),
    );
  });
});

function said(overrides: RequestedPolicy): RequestedPolicy {
  return Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== null));
}
