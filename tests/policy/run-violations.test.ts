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

describe('what was seen of an agent while it ran', () => {
  test.each<[string, Partial<RunFacts>, Partial<EffectivePolicy>, string[]]>([
    ['a denial', { denials: [denial({})] }, {}, ['native_policy_block agent Bash']],
    ['a path outside', ofPath('/etc/motd'), {}, ['native_policy_block agent Bash']],
    ['a forbidden path', ofPath('/work/docs/legal/a.md'), {}, ['forbidden_path agent docs/legal/a.md']],
    ['a forbidden path, relative', ofPath('./docs/legal'), {}, ['forbidden_path agent docs/legal']],
    ['a path that climbs out', ofPath('docs/legal/../../x'), {}, ['native_policy_block agent Bash']],
    ['a path that no document may hold', ofPath('docs/legal/\n'), {}, ['native_policy_block agent Bash']],
    ['a setting of git', ofPath('.git/config'), {}, ['forbidden_operation agent configure']],
    ['a ref of git', ofPath('/work/.git/refs/heads/x.lock'), {}, ['forbidden_operation agent commit']],
    ['a setting that may be', ofPath('.git/config'), { forbidden_operations: [] }, ['native_policy_block agent Bash']],
    ['attempts that the kernel counted', { networkAttempts: 2 }, {}, ['network_violation sandbox ']],
    ['none that the kernel counted', { networkAttempts: 0 }, {}, []],
    ['words, and no attempt', { ...words, networkAttempts: 0 }, {}, []],
    ['words, where the kernel does not tell', words, {}, ['network_violation agent Bash']],
    [
      'words that ended the run',
      { ...words, networkAttempts: 0 },
      { approval_posture: 'fail_on_prompt' },
      ['network_violation agent Bash hard'],
    ],
    [
      'attempts, where the first denial ends the run',
      { networkAttempts: 1 },
      { approval_posture: 'fail_on_prompt' },
      ['network_violation sandbox  hard'],
    ],
    [
      'a tool that was denied the network',
      { denials: [denial({ tool: 'WebFetch', isNetwork: true })], networkAttempts: 0 },
      {},
      ['network_violation agent WebFetch'],
    ],
    [
      'a question in the stream, and the door heard it, too',
      { denials: [denial({ tool: 'AskUserQuestion', isQuestion: true })], question: { message: 'x', source: 'door' } },
      {},
      ['interactive_prompt_violation door AskUserQuestion hard'],
    ],
    [
      'a question at the door alone',
      { question: { message: 'x', source: 'door' } },
      {},
      ['interactive_prompt_violation door  hard'],
    ],
    [
      'a question in the stream of a run that was interrupted',
      { denials: [denial({ tool: 'AskUserQuestion', isQuestion: true })] },
      {},
      ['interactive_prompt_violation agent AskUserQuestion hard'],
    ],
  ])('%s', (_, facts, policy, violations) => expect(found(facts, policy)).toEqual(violations));
});

test('an agent may not write outside of its folders, to a forbidden path, or anywhere where it only reads', () => {
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
