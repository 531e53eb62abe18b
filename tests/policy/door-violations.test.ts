import { expect, test } from 'vitest';
import { doorViolations } from '../../src/policy/door-violations.ts';

const DENY = { network_posture: 'deny', approval_posture: 'deny_interactive' } as const;

const refused = (...words: readonly string[]) => ({
  total: words.length,
  listed: words.map(what => ({ what, where: 'tools[]', count: 2 })),
});

test('a refused network request is a violation if the policy denies the network', () => {
  const reaching = ['endpoint', 'reach', 'reference', 'tool', 'model'];
  const found = doorViolations(refused(...reaching), DENY);
  expect(found.map(({ class: kind, hard }) => ({ kind, hard }))).toEqual(
    reaching.map(() => ({ kind: 'network_violation', hard: false })),
  );
  expect(found[3]?.message).toBe(
    'A request would have made the provider run a tool; the model proxy refused it: tools[], 2 times.',
  );
});

test('a refused network request is a hard violation if the first denial ends a run', () => {
  const found = doorViolations(refused('tool'), { ...DENY, approval_posture: 'fail_on_prompt' });
  expect(found).toMatchObject([{ class: 'network_violation', hard: true, source: 'door' }]);
});

test('other refusals are not violations, and none are if the network is open', () => {
  const harmless = ['token', 'load', 'size', 'encoding', 'body', 'key', 'budget'];
  expect(doorViolations(refused(...harmless), DENY)).toEqual([]);
  expect(doorViolations(refused('tool'), { ...DENY, network_posture: 'allow' })).toEqual([]);
  expect(doorViolations(undefined, DENY)).toEqual([]);
});
