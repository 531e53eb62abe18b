import { describe, expect, test } from 'vitest';
import { claudeCli } from '../../src/adapters/claude-cli.ts';
import { codexCli } from '../../src/adapters/codex-cli.ts';
import { Fault } from '../../src/base/fault.ts';
import { type AgentPolicy, builtInPolicies } from '../../src/contracts/agent-policy/index.ts';
import { effectivePolicy, requestedFrom } from '../../src/policy/agent-policy.ts';
import { type Capabilities, enforcedBy, type Enforcers } from '../../src/policy/capabilities.ts';

const { 'read-only': readOnly, edit, open } = builtInPolicies;
const { capabilities } = claudeCli;
const CLAUDE: Enforcers = { agent: 'claude', capabilities, sandbox: 'process' };
const CODEX: Enforcers = { agent: 'codex', capabilities: codexCli.capabilities, sandbox: 'process' };
const BARE: Enforcers = { ...CLAUDE, sandbox: 'none' };

const without = (...names: (keyof Capabilities)[]): Enforcers => ({
  ...CLAUDE,
  capabilities: { ...capabilities, ...Object.fromEntries(names.map(name => [name, false])) },
});

function answer(policy: AgentPolicy, enforcers: Enforcers, limits = {}): readonly string[] | string {
  try {
    return enforcedBy(effectivePolicy(requestedFrom({}, policy)).effective, limits, enforcers).notes;
  } catch (fault) {
    if (fault instanceof Fault) return `${fault.code}: ${fault.message}`;
    throw fault;
  }
}

describe('who enforces a policy', () => {
  test('is said for every dimension', () => {
    expect(answer({ ...edit, name: 'mine', allowed_paths: ['src'] }, CLAUDE, { maxTurns: 3, maxCostUsd: 1 })).toEqual([
      'execution_posture: the sandbox, in which nothing but the work tree and a home of its own can be written',
      'network_posture: the sandbox, which has no network but a door to the API of the model',
      'approval_posture: claude itself, which is denied what it would ask for',
      'allowed_paths: the diff of the work tree afterwards, in which any other path is a violation',
      'forbidden_operations: push by the sandbox, from which no remote can be reached; force by the state of the repository afterwards',
      'max_turns: claude itself, at most 3',
      'max_cost_usd: claude itself, by its own estimate; the door counts no cost, because it was given no prices',
    ]);
  });

  test.each(['fail_on_prompt', 'deny_interactive', 'bounded_auto_approve'] as const)(
    'is never an agent whose own sandbox is off: %s',
    approval_posture => {
      const off = { ...CODEX, isUnconfined: true };
      for (const policy of [readOnly, edit, open]) {
        const notes = answer({ ...policy, approval_posture }, off, { maxTurns: 3 });
        expect(notes).toContain('max_turns: proctor, which counts them in the stream of codex, at most 3');
        expect(notes).toEqual(expect.not.arrayContaining([expect.stringContaining('codex itself')]));
      }
    },
  );

  test('may be an agent whose own sandbox works', () => {
    expect(answer(readOnly, CODEX)).toEqual(
      expect.arrayContaining([
        'execution_posture: the sandbox, in which the work tree is read-only; codex itself',
        'network_posture: the sandbox, which has no network but a door to the API of the model; codex itself, for its tools',
      ]),
    );
  });

  test.each(Object.entries(builtInPolicies))('somebody does for %s, whichever agent', (_, policy) => {
    expect(answer(policy, CLAUDE)).toBeInstanceOf(Array);
    expect(answer(policy, CODEX)).toBeInstanceOf(Array);
  });

  const refused: [string, string | readonly string[], string][] = [
    [
      'a cost that nobody counts',
      answer(edit, CODEX, { maxCostUsd: 1 }),
      'codex has no limit on cost and does not tell what it costs, so max_cost_usd cannot be enforced without prices. Give a price file with --prices.',
    ],
    [
      'turns that nobody counts',
      answer(edit, without('turn_limit'), { maxTurns: 1 }),
      'claude has no limit on turns and does not tell how many it took, so max_turns cannot be enforced.',
    ],
    [
      'writing by an agent that cannot',
      answer(edit, without('workspace_write')),
      'claude has no way to write to its work tree, which workspace_write asks for.',
    ],
    [
      'silence of an agent that asks',
      answer(edit, without('prompt_suppression')),
      'claude has no way to run without asking, which deny_interactive asks for.',
    ],
    [
      'an end at a denial that nobody sees',
      answer({ name: 'mine', extends: 'edit', approval_posture: 'fail_on_prompt' }, without('structured_event_stream')),
      'claude has no stream of events in which a denial is seen, which fail_on_prompt asks for.',
    ],
    [
      'a push over an open network',
      answer({ ...open, forbidden_operations: ['push'] }, CLAUDE),
      'The sandbox has no way to tell a push from another connection, so that push can be forbidden only where network_posture is deny.',
    ],
    [
      'reading only, without a sandbox',
      answer(readOnly, BARE),
      'Without a sandbox, nobody can enforce that the work tree is only read, which the policy asks for.',
    ],
    [
      'a closed network, without a sandbox',
      answer(edit, BARE),
      'Without a sandbox, nobody can enforce that the network is closed, which the policy asks for.',
    ],
    [
      'approval within bounds, without any',
      answer(open, BARE),
      'Without a sandbox, nobody can enforce the bounds within which everything is approved, which the policy asks for.',
    ],
    [
      'paths, without a sandbox',
      answer({ ...open, approval_posture: 'deny_interactive', forbidden_paths: ['a'] }, BARE),
      'Without a sandbox, nobody can enforce which paths are changed, which the policy asks for.',
    ],
    [
      'operations, without a sandbox',
      answer({ ...open, approval_posture: 'deny_interactive', forbidden_operations: ['commit', 'force'] }, BARE),
      'Without a sandbox, nobody can enforce that an agent does not commit, force, which the policy asks for.',
    ],
  ];
  test.each(refused)('%s is refused by name', (_, said, sentence) => {
    expect(said).toBe(`not_enforceable: ${sentence}`);
  });
});
