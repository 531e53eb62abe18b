import { describe, expect, test } from 'vitest';
import type { Denial } from '../../src/contracts/agent-step/reading.ts';
import type { EffectivePolicy } from '../../src/contracts/agent-step/policy.ts';
import { guardOf, type RunFacts, violationsDuring } from '../../src/policy/run-violations.ts';

const POLICY: EffectivePolicy = {
  execution_posture: 'workspace_write',
  network_posture: 'deny',
  approval_posture: 'deny_interactive',
  allowed_paths: ['.'],
  forbidden_paths: ['docs/legal'],
  forbidden_operations: ['commit', 'configure'],
};

const denial = (more: Partial<Denial>): Denial => ({
  tool: 'Bash',
  call: 'a',
  reason: 'no',
  path: null,
  isNetwork: false,
  native_line: 1,
  ...more,
});

function found(facts: Partial<RunFacts>, policy: Partial<EffectivePolicy> = {}): string[] {
  const all = { denials: [], question: undefined, networkAttempts: undefined, ...facts };
  return violationsDuring(all, { ...POLICY, ...policy }).map(({ class: kind, source, path, operation, hard }) =>
    [kind, source, path ?? operation ?? '', ...(hard ? ['hard'] : [])].join(' '),
  );
}

const ofPath = (path: string): Partial<RunFacts> => ({ denials: [denial({ path, fromOutput: true })] });
const words: Partial<RunFacts> = { denials: [denial({ isNetwork: true, fromOutput: true })] };

describe('an agent run', () => {
  test.each<[string, Partial<RunFacts>, Partial<EffectivePolicy>, string[]]>([
    ['a denial', { denials: [denial({})] }, {}, ['native_policy_block agent Bash']],
    ['a denial at a path outside the work tree', ofPath('/etc/motd'), {}, ['native_policy_block agent Bash']],
    ['a denial at a forbidden path', ofPath('/work/docs/legal/a.md'), {}, ['forbidden_path agent docs/legal/a.md']],
    ['a denial at a relative forbidden path', ofPath('./docs/legal'), {}, ['forbidden_path agent docs/legal']],
    ['a denial at a path with ..', ofPath('docs/legal/../../x'), {}, ['native_policy_block agent Bash']],
    ['a denial at a path with a control character', ofPath('docs/legal/\n'), {}, ['native_policy_block agent Bash']],
    [
      'a denial at a forbidden path with half a surrogate pair',
      ofPath('docs/legal/\ud83d'),
      {},
      ['forbidden_path agent docs/legal/\ufffd'],
    ],
    ['a denial at the git configuration', ofPath('.git/config'), {}, ['forbidden_operation agent configure']],
    ['a denial at a git ref', ofPath('/work/.git/refs/heads/x.lock'), {}, ['forbidden_operation agent commit']],
    [
      'a denial at a git configuration that is not forbidden',
      ofPath('.git/config'),
      { forbidden_operations: [] },
      ['native_policy_block agent Bash'],
    ],
    ['network attempts that the kernel counted', { networkAttempts: 2 }, {}, ['network_violation sandbox ']],
    ['no network attempts', { networkAttempts: 0 }, {}, []],
    ['a network error in the output, without an attempt', { ...words, networkAttempts: 0 }, {}, []],
    ['a network error in the output, if the kernel does not count', words, {}, ['network_violation agent Bash']],
    [
      'a network error in the output that ended the run',
      { ...words, networkAttempts: 0 },
      { approval_posture: 'fail_on_prompt' },
      ['network_violation agent Bash hard'],
    ],
    [
      'network attempts, if the first denial ends the run',
      { networkAttempts: 1 },
      { approval_posture: 'fail_on_prompt' },
      ['network_violation sandbox  hard'],
    ],
    [
      'a tool call that was denied the network',
      { denials: [denial({ tool: 'WebFetch', isNetwork: true })], networkAttempts: 0 },
      {},
      ['network_violation agent WebFetch'],
    ],
    [
      'a question in the stream and at the model proxy',
      { denials: [denial({ tool: 'AskUserQuestion', isQuestion: true })], question: { message: 'x', source: 'door' } },
      {},
      ['interactive_prompt_violation door AskUserQuestion hard'],
    ],
    [
      'a question at the model proxy only',
      { question: { message: 'x', source: 'door' } },
      {},
      ['interactive_prompt_violation door  hard'],
    ],
    [
      'a question in the stream of an interrupted run',
      { denials: [denial({ tool: 'AskUserQuestion', isQuestion: true })] },
      {},
      ['interactive_prompt_violation agent AskUserQuestion hard'],
    ],
  ])('has the expected violations after %s', (_, facts, policy, violations) =>
    expect(found(facts, policy)).toEqual(violations),
  );
});

test('an agent must not write outside its folders, to a forbidden path, or anywhere under read_only', () => {
  const isGuarded = guardOf(POLICY);
  expect(['/etc/motd', '/work/docs/legal/a', 'docs/legal', '/agent/x'].map(isGuarded)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(['/work/a', 'a', '/tmp/a', '/agent/home/a', '/dev/null'].map(isGuarded)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
  expect(guardOf({ ...POLICY, execution_posture: 'read_only' })('/work/a')).toBe(true);
});
