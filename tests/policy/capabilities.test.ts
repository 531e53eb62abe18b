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

describe('the enforcement of a policy', () => {
  test('is stated for every dimension', () => {
    expect(answer({ ...edit, name: 'mine', allowed_paths: ['src'] }, CLAUDE, { maxTurns: 3, maxCostUsd: 1 })).toEqual([
      'execution_posture: the sandbox allows writes only to the work tree and a private home',
      'network_posture: the sandbox has no network except the model proxy',
      'approval_posture: claude enforces it: its prompts are denied',
      'allowed_paths: Proctor checks the diff afterwards: a change to any other path is a violation',
      'forbidden_operations: the sandbox cannot reach a remote (push); Proctor checks the repository afterwards (force)',
      'max_turns: claude enforces it, at most 3',
      'max_cost_usd: claude enforces it by its own estimate; the model proxy does not count cost, because there is no price file',
    ]);
  });

  test.each(['fail_on_prompt', 'deny_interactive', 'bounded_auto_approve'] as const)(
    'never relies on an agent whose built-in sandbox is off: %s',
    approval_posture => {
      const off = { ...CODEX, isUnconfined: true };
      for (const policy of [readOnly, edit, open]) {
        const notes = answer({ ...policy, approval_posture }, off, { maxTurns: 3 });
        expect(notes).toContain("max_turns: Proctor counts turns in codex's event stream, at most 3");
        expect(notes).toEqual(expect.not.arrayContaining([expect.stringContaining('codex enforces')]));
      }
    },
  );

  test('may rely on an agent whose built-in sandbox works', () => {
    expect(answer(readOnly, CODEX)).toEqual(
      expect.arrayContaining([
        'execution_posture: the sandbox makes the work tree read-only; codex enforces it too',
        'network_posture: the sandbox has no network except the model proxy; codex enforces it for its tools',
      ]),
    );
  });

  test.each(Object.entries(builtInPolicies))('is possible for %s with every agent', (_, policy) => {
    expect(answer(policy, CLAUDE)).toBeInstanceOf(Array);
    expect(answer(policy, CODEX)).toBeInstanceOf(Array);
  });

  const refused: [string, string | readonly string[], string][] = [
    [
      'a cost limit without a counter',
      answer(edit, CODEX, { maxCostUsd: 1 }),
      'Cannot enforce max_cost_usd: codex neither limits nor reports its cost. Pass a price file with --prices.',
    ],
    [
      'a turn limit without a counter',
      answer(edit, without('turn_limit'), { maxTurns: 1 }),
      'Cannot enforce max_turns: claude neither limits nor reports its turns.',
    ],
    [
      'workspace_write for an agent that cannot write',
      answer(edit, without('workspace_write')),
      'claude cannot write to its work tree, which workspace_write requires.',
    ],
    [
      'deny_interactive for an agent that always asks',
      answer(edit, without('prompt_suppression')),
      'claude cannot run without prompts, which deny_interactive requires.',
    ],
    [
      'fail_on_prompt without an event stream',
      answer({ name: 'mine', extends: 'edit', approval_posture: 'fail_on_prompt' }, without('structured_event_stream')),
      'claude has no event stream that shows denials, which fail_on_prompt requires.',
    ],
    [
      'a ban on push with an open network',
      answer({ ...open, forbidden_operations: ['push'] }, CLAUDE),
      'The sandbox cannot distinguish a push from other connections. To forbid push, set network_posture to deny.',
    ],
    [
      'read_only without a sandbox',
      answer(readOnly, BARE),
      'Proctor cannot enforce a read-only work tree without a sandbox, but the policy requires it.',
    ],
    [
      'a closed network without a sandbox',
      answer(edit, BARE),
      'Proctor cannot enforce a closed network without a sandbox, but the policy requires it.',
    ],
    [
      'bounded_auto_approve without a sandbox',
      answer(open, BARE),
      'Proctor cannot enforce the limits of bounded_auto_approve without a sandbox, but the policy requires it.',
    ],
    [
      'path restrictions without a sandbox',
      answer({ ...open, approval_posture: 'deny_interactive', forbidden_paths: ['a'] }, BARE),
      'Proctor cannot enforce path restrictions without a sandbox, but the policy requires it.',
    ],
    [
      'forbidden operations without a sandbox',
      answer({ ...open, approval_posture: 'deny_interactive', forbidden_operations: ['commit', 'force'] }, BARE),
      'Proctor cannot enforce a ban on commit, force without a sandbox, but the policy requires it.',
    ],
  ];
  test.each(refused)('is refused for %s', (_, said, sentence) => {
    expect(said).toBe(`not_enforceable: ${sentence}`);
  });
});
