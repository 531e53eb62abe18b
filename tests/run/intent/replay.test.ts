import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Intent } from '../../../src/contracts/intent/index.ts';
import { plannerPrompt } from '../../../src/run/intent/propose.ts';
import { reproduce } from '../../../src/verbs/reproduce.ts';
import type { RunIntentOptions } from '../../../src/verbs/run-intent.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { temporaryFolder } from '../../support/support.ts';
import { GOAL, node, own, ran, recording, saidIn, toldOf } from './world.ts';

afterAll(() => closeLauncher());

const PLAN = { commands: [node('console.log("hello")')], outputs: [], accept: [{ check: 'exit_code', equals: 0 }] };

/** Runs an intent with a recording of these answers, and returns the outcome. */
async function replayed(
  answers: readonly (readonly [Intent, unknown])[],
  intent: object = { goal: GOAL.goal },
  options: Partial<RunIntentOptions> = {},
) {
  const cwd = temporaryFolder();
  const file = path.join(cwd, 'model.json');
  const texts = answers.map(
    ([asked, answer]) => [plannerPrompt(asked), typeof answer === 'string' ? answer : JSON.stringify(answer)] as const,
  );
  writeFileSync(file, JSON.stringify(recording(texts)));
  const more = { policy: 'dev', modelMode: 'replay', recording: file, cwd, ...options } as const;
  return ran(intent, more).catch((error: unknown) => toldOf(error));
}

const resultOf = async (run: ReturnType<typeof replayed>) => {
  const answer = await run;
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
};

describe('a bare goal with a recording', () => {
  test('is planned from the recording, and executed', async () => {
    const other: Intent = { ...GOAL, goal: 'Something else' };
    const { result, folder, internal } = await resultOf(
      replayed([
        [other, {}],
        [GOAL, PLAN],
      ]),
    );
    expect(result).toMatchObject({ kernel_result_kind: 'BUNDLE', model_mode: 'replay', decision: { accepted: true } });
    expect(result.model_io_path).toBeUndefined();
    // Only a run that records has one.
    expect(internal.model_io_path).toBeUndefined();
    expect(saidIn(folder)).toBe('hello\n');
  });

  test('reproduces from its run folder alone', async () => {
    const { folder } = await resultOf(replayed([[GOAL, PLAN]]));
    expect(await reproduce(folder, { cwd: temporaryFolder() })).toMatchObject({ same: true, first: undefined });
  });

  test('asks about a placeholder first, and is planned once it is filled', async () => {
    const answer = [{ ...GOAL, goal: 'Say yes' }, PLAN] as const;
    const open = await resultOf(replayed([answer], { goal: 'Say <what>' }));
    expect(open.result.clarify_questions?.[0]).toMatch(/^what: /);
    const answers = path.join(temporaryFolder(), 'answers.json');
    writeFileSync(answers, '{"what":"yes"}');
    const { result } = await resultOf(replayed([answer], { goal: 'Say <what>' }, { answers }));
    expect(result.decision.accepted).toBe(true);
  });

  test('keeps what its author wrote next to what the model adds', async () => {
    const intent = {
      goal: GOAL.goal,
      accept: [{ check: 'file_exists', path: 'out/a' }],
      outputs: ['out/a'],
      limits: { timeout_ms: 2_000 },
    };
    const plan = { ...PLAN, accept: [], outputs: [], limits: { timeout_ms: 50_000 } };
    const { result } = await resultOf(replayed([[GOAL, plan]], intent));
    expect(result.decision).toMatchObject({
      accepted: false,
      reasons: expect.arrayContaining(['The output "out/a" is not there.']) as never,
    });
  });

  test('is checked against its profile, whatever the model proposed', async () => {
    const policy = own({ allowed_commands: ['node'] });
    const plan = { commands: [{ argv: ['sh', '-c', 'id'] }] };
    const { result } = await resultOf(replayed([[GOAL, plan]], { goal: GOAL.goal }, { policy }));
    expect(result).toMatchObject({ kernel_result_kind: 'REFUSE', execution: null });
  });

  test.each<[string, unknown, string]>([
    ['network', { ...PLAN, network: true }, 'RUN_E003: The proposal has a key that must not be proposed.'],
    ['a policy', { ...PLAN, policy: 'dev' }, 'RUN_E003: The proposal has a key that must not be proposed.'],
    ['another goal', { ...PLAN, goal: 'x' }, 'RUN_E003: The proposal has a key that must not be proposed.'],
    [
      '__proto__',
      '{"commands":[{"argv":["node"]}],"__proto__":{"network":true}}',
      'RUN_E003: The proposal has a key that must not be proposed.',
    ],
    [
      'invalid limits',
      { ...PLAN, limits: { timeout_ms: 'long' } },
      "RUN_E003: The model's proposal is invalid: limits.timeout_ms must be a number, but is a string.",
    ],
    ['no commands', { outputs: ['out/a'] }, "RUN_E007: The model's answer contains no commands."],
    ['a list', [], "RUN_E007: The model's answer is not a single JSON object."],
    ['prose', 'Sure! Here is the plan: {}', "RUN_E007: The model's answer is not a single JSON object."],
    ['text before a fence', 'Here:\n```json\n{}\n```', "RUN_E007: The model's answer is not a single JSON object."],
    ['two fences', '```\n{}\n```\n```\n{}\n```', "RUN_E007: The model's answer is not a single JSON object."],
    ['a duplicate key', '{"commands":[],"commands":[]}', "RUN_E007: The model's answer is not a single JSON object."],
  ])('that proposes %s is refused', async (_, answer, told) => {
    expect(await replayed([[GOAL, answer]])).toBe(told);
  });

  test('without a recorded answer is a fault', async () => {
    expect(await replayed([[{ ...GOAL, context: { a: 1 } }, PLAN]])).toBe(
      'RUN_E007: The recording contains no answer for this goal.',
    );
  });
});

describe('a model mode', () => {
  test.each(['strict', 'default'])('is refused under %s, by PL4', async policy => {
    expect(await replayed([], {}, { policy })).toBe(
      `RUN_E004: The profile ${policy} allows no model. Use --model-mode none, or the profile dev.`,
    );
  });

  test('without a recording is refused, by PL5', async () => {
    const told = await ran({ goal: 'g' }, { policy: 'dev', modelMode: 'replay' }).catch(toldOf);
    expect(told).toBe('RUN_E004: The model mode replay requires a recording. Add --recording FILE.');
  });

  test('with a changed recording is refused', async () => {
    const file = path.join(temporaryFolder(), 'model.json');
    const changed = JSON.stringify(recording([[plannerPrompt(GOAL), 'x']])).replace('"x"', '"y"');
    writeFileSync(file, changed);
    const told = await ran({ goal: 'g' }, { policy: 'dev', modelMode: 'replay', recording: file }).catch(toldOf);
    expect(told).toBe(
      'RUN_E007: The recording is invalid: MI7: interactions[0].response_hash does not match the content.',
    );
  });
});
