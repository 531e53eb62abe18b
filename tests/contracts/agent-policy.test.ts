import { describe, expect, test } from 'vitest';
import { agentPolicy, builtInPolicies, decided } from '../../src/contracts/agent-policy/index.ts';
import { check } from '../../src/contracts/check.ts';
import { exampleWith } from '../support/support.ts';
import { titled } from './artifacts-words.ts';

const findings = (value: unknown) => check(agentPolicy, value, { strict: true, internal: false }).violations;
const places = (value: unknown) => findings(value).map(({ rule_id, path }) => `${rule_id} ${path}`);

type Row = [about: string, changes: Record<string, unknown>, broken: string[]];

const rows: Row[] = [
  ['a missing version', { schema_version: undefined }, []],
  ['an unknown version', { schema_version: 'agent-policy.v2' }, ['AP1 schema_version']],
  ['a misspelled key', { alowed_paths: ['src'] }, ['AP1 alowed_paths']],
  ['a misspelled limit', { 'limits.timeout': 5 }, ['AP6 limits.timeout']],
  ['a missing name', { name: undefined }, ['AP2 name']],
  ['the name of a built-in policy', { name: 'open' }, ['AP2 name']],
  ['an unknown base policy', { extends: 'docs-only' }, ['AP8 extends']],
  ['an unknown posture', { execution_posture: 'write' }, ['AP3 execution_posture']],
  ['an absolute path', { allowed_paths: ['/etc'] }, ['AP4 allowed_paths[0]']],
  ['a path with ..', { forbidden_paths: ['a/../../b'] }, ['AP4 forbidden_paths[0]']],
  ['an unknown operation', { forbidden_operations: ['merge'] }, ['AP5 forbidden_operations[0]']],
  ['a fractional number of turns', { 'limits.max_turns': 1.5 }, ['AP6 limits.max_turns']],
  ['a timeout above one day', { 'limits.timeout_ms': 86_401_000 }, ['AP6 limits.timeout_ms']],
  ['a cost limit of 0', { 'limits.max_cost_usd': 0 }, ['AP6 limits.max_cost_usd']],
  ['missing limits', { limits: undefined }, []],
  ['allowed paths in a read-only policy', { execution_posture: 'read_only' }, ['AP7 allowed_paths']],
  ['allowed paths in a policy that is read-only by default', { extends: undefined }, ['AP7 allowed_paths']],
  ['empty allowed paths in a read-only policy', { execution_posture: 'read_only', allowed_paths: [] }, []],
  ['empty allowed paths in a writing policy', { allowed_paths: [] }, ['AP7 allowed_paths']],
  [
    'automatic approval in a read-only policy',
    {
      extends: 'open',
      execution_posture: 'read_only',
      approval_posture: undefined,
      network_posture: 'deny',
      allowed_paths: undefined,
    },
    ['AP7 approval_posture'],
  ],
  ['an allowed path that is forbidden', { forbidden_paths: ['docs'] }, ['AP7 allowed_paths[0]']],
  [
    'an allowed path that is forbidden in another spelling',
    { forbidden_paths: ['./docs/.'] },
    ['AP7 allowed_paths[0]'],
  ],
  ['a forbidden path that shares only a prefix', { forbidden_paths: ['doc', 'docs-old'] }, []],
  ['a forbidden work tree', { forbidden_paths: ['.'], allowed_paths: undefined }, ['AP7 forbidden_paths']],
  [
    'forbidding push with an open network',
    { extends: 'open', forbidden_operations: ['push'] },
    ['AP7 forbidden_operations'],
  ],
  [
    'forbidding push with a closed network',
    { extends: 'open', network_posture: 'deny', forbidden_operations: ['push'] },
    [],
  ],
  ['a tool idle timeout above the timeout', { 'limits.timeout_ms': 200_000 }, ['AP7 limits.tool_idle_timeout_ms']],
  [
    'an idle timeout above the tool idle timeout',
    { 'limits.idle_timeout_ms': 400_000 },
    ['AP7 limits.idle_timeout_ms'],
  ],
  [
    'a looser network than in the base policy',
    { network_posture: 'allow', forbidden_operations: undefined },
    ['AP8 network_posture'],
  ],
  [
    'writing with a read-only base policy',
    { extends: 'read-only', execution_posture: 'workspace_write' },
    ['AP8 execution_posture'],
  ],
];

describe('the agent policy contract', () => {
  test.each(titled(rows))('%s', (_, changes, broken) => {
    expect(places(exampleWith(agentPolicy, changes))).toEqual(broken);
  });

  test('names both keys of a contradiction', () => {
    const said = (changes: Record<string, unknown>) =>
      findings(exampleWith(agentPolicy, changes)).map(({ message }) => message);
    expect(said({ extends: undefined })).toEqual([
      'allowed_paths must be empty or absent because execution_posture is "read_only" (the default).',
    ]);
    expect(said({ forbidden_paths: ['docs'] })).toEqual(['allowed_paths[0] is inside a forbidden path.']);
    expect(said({ extends: 'open', forbidden_operations: ['push'] })).toEqual([
      'forbidden_operations cannot include "push" because network_posture is "allow": a push cannot be told apart from other connections.',
    ]);
    expect(said({ 'limits.timeout_ms': 200_000 })).toEqual([
      'limits.tool_idle_timeout_ms is longer than limits.timeout_ms, so it would never be reached.',
    ]);
    expect(said({ approval_posture: 'bounded_auto_approve' })).toEqual([
      'approval_posture is looser than "deny_interactive", the value in the extended policy edit.',
    ]);
  });
});

describe('the built-in policies', () => {
  test.each(Object.entries(builtInPolicies))(
    'include %s, which is valid and has its key as its name',
    (name, policy) => {
      expect(findings(policy)).toEqual([]);
      expect(policy.name).toBe(name);
    },
  );

  test('have names that no other policy can use', () => {
    expect(places({ ...builtInPolicies['read-only'], network_posture: 'allow', forbidden_operations: [] })).toEqual([
      'AP2 name',
    ]);
  });

  test('pass on their forbidden operations to policies that extend them', () => {
    const { forbidden_operations, network_posture } = decided({
      name: 'mine',
      extends: 'edit',
      forbidden_operations: ['delete', 'push'],
    });
    expect(forbidden_operations).toEqual(['push', 'force', 'delete']);
    expect(network_posture).toBe('deny');
  });
});
