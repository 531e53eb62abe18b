import { describe, expect, test } from 'vitest';
import { agentPolicy, builtInPolicies, decided } from '../../src/contracts/agent-policy/index.ts';
import { check } from '../../src/contracts/check.ts';
import { exampleWith } from '../support.ts';

const findings = (value: unknown) => check(agentPolicy, value, { strict: true, internal: false }).violations;
const places = (value: unknown) => findings(value).map(({ rule_id, path }) => `${rule_id} ${path}`);

type Row = [about: string, changes: Record<string, unknown>, broken: string[]];

const rows: Row[] = [
  ['no version, as people write it', { schema_version: undefined }, []],
  ['a version of tomorrow', { schema_version: 'agent-policy.v2' }, ['AP1 schema_version']],
  ['a key with a slip in it', { alowed_paths: ['src'] }, ['AP1 alowed_paths']],
  ['a limit with a slip in it', { 'limits.timeout': 5 }, ['AP6 limits.timeout']],
  ['no name', { name: undefined }, ['AP2 name']],
  ['the name of a built-in policy', { name: 'open' }, ['AP2 name']],
  ['a base that nobody has', { extends: 'docs-only' }, ['AP8 extends']],
  ['a posture that nobody knows', { execution_posture: 'write' }, ['AP3 execution_posture']],
  ['an absolute path', { allowed_paths: ['/etc'] }, ['AP4 allowed_paths[0]']],
  ['a path that climbs', { forbidden_paths: ['a/../../b'] }, ['AP4 forbidden_paths[0]']],
  ['an operation that nobody looks for', { forbidden_operations: ['merge'] }, ['AP5 forbidden_operations[0]']],
  ['half a turn', { 'limits.max_turns': 1.5 }, ['AP6 limits.max_turns']],
  ['a day and a second', { 'limits.timeout_ms': 86_401_000 }, ['AP6 limits.timeout_ms']],
  ['a cost of nothing', { 'limits.max_cost_usd': 0 }, ['AP6 limits.max_cost_usd']],
  ['no limits', { limits: undefined }, []],
  ['paths that may be written, and reading only', { execution_posture: 'read_only' }, ['AP7 allowed_paths']],
  ['the same by default', { extends: undefined }, ['AP7 allowed_paths']],
  ['no path, and reading only', { execution_posture: 'read_only', allowed_paths: [] }, []],
  ['no path, and writing', { allowed_paths: [] }, ['AP7 allowed_paths']],
  [
    'approval where there is nothing to approve',
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
  ['the same in other words', { forbidden_paths: ['./docs/.'] }, ['AP7 allowed_paths[0]']],
  ['a forbidden path that only begins alike', { forbidden_paths: ['doc', 'docs-old'] }, []],
  ['everything forbidden', { forbidden_paths: ['.'], allowed_paths: undefined }, ['AP7 forbidden_paths']],
  ['no push over an open network', { extends: 'open', forbidden_operations: ['push'] }, ['AP7 forbidden_operations']],
  ['no push over a closed one', { extends: 'open', network_posture: 'deny', forbidden_operations: ['push'] }, []],
  ['silence longer than the whole', { 'limits.timeout_ms': 200_000 }, ['AP7 limits.tool_idle_timeout_ms']],
  ['silence longer than that of tools', { 'limits.idle_timeout_ms': 400_000 }, ['AP7 limits.idle_timeout_ms']],
  [
    'a looser network than that of the base',
    { network_posture: 'allow', forbidden_operations: undefined },
    ['AP8 network_posture'],
  ],
  [
    'writing where the base reads',
    { extends: 'read-only', execution_posture: 'workspace_write' },
    ['AP8 execution_posture'],
  ],
];

describe('an agent policy', () => {
  test.each(rows)('%s', (_, changes, broken) => {
    expect(places(exampleWith(agentPolicy, changes))).toEqual(broken);
  });

  test('names both keys of a contradiction', () => {
    const said = (changes: Record<string, unknown>) =>
      findings(exampleWith(agentPolicy, changes)).map(({ message }) => message);
    expect(said({ extends: undefined })).toEqual([
      'allowed_paths must be empty or absent because execution_posture is "read_only" (the default).',
    ]);
    expect(said({ forbidden_paths: ['docs'] })).toEqual([
      'allowed_paths[0] is entirely inside one of forbidden_paths.',
    ]);
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
  test.each(Object.entries(builtInPolicies))('%s is valid, and named as it is called', (name, policy) => {
    expect(findings(policy)).toEqual([]);
    expect(policy.name).toBe(name);
  });

  test('with another content need another name', () => {
    expect(places({ ...builtInPolicies['read-only'], network_posture: 'allow', forbidden_operations: [] })).toEqual([
      'AP2 name',
    ]);
  });

  test('keep forbidding what they forbid in whatever extends them', () => {
    const { forbidden_operations, network_posture } = decided({
      name: 'mine',
      extends: 'edit',
      forbidden_operations: ['delete', 'push'],
    });
    expect(forbidden_operations).toEqual(['push', 'force', 'delete']);
    expect(network_posture).toBe('deny');
  });
});
