import { describe, expect, test } from 'vitest';
import {
  type Bundle,
  bundle,
  type Intent,
  intent,
  type IntentOutcome,
  intentOutcome,
  type IntentRequest,
  intentRequest,
} from '../../../src/contracts/intent/index.ts';
import { builtInProfiles } from '../../../src/contracts/profile/built-in.ts';
import { type RunResult, runResult } from '../../../src/contracts/run-result/index.ts';
import { runner } from '../../../src/contracts/runner/index.ts';
import type { Runner } from '../../../src/contracts/runner/shape.ts';
import { intentPage, type IntentPageInput } from '../../../src/reports/pages/intent-page.ts';

const request = intentRequest.example as IntentRequest;
const result = runResult.example as RunResult;
const outcome = intentOutcome.example as IntentOutcome;
const plan = bundle.example as Bundle;

function pageOf(over: Partial<IntentPageInput> = {}) {
  return intentPage({
    id: request.run_id,
    folder: '/nowhere',
    life: 'finished',
    isWhole: true,
    keyIds: null,
    key: undefined,
    word: request.run_id,
    request,
    result,
    intent: intent.example as Intent,
    bundle: plan,
    policy: builtInProfiles.default,
    runner: runner.example as Runner,
    outcome,
    streamBytes: () => Buffer.from('hello\n'),
    ...over,
  });
}

const notRun = { outcome: undefined, runner: undefined };
const no: RunResult['decision'] = {
  accepted: false,
  reasons: ['PL6: network is asked for.'],
  validated_by_kernel: true,
};

describe('the verdict of an intent', () => {
  test('is BUNDLE, accepted or not', () => {
    expect(pageOf().top).toMatchObject({ tone: 'good', word: 'BUNDLE, accepted' });
    const { top } = pageOf({
      result: { ...result, decision: { ...no, reasons: ['commands[0] ended with exit code 4.'] } },
    });
    expect(top).toMatchObject({
      tone: 'bad',
      word: 'BUNDLE, not accepted',
      sentence: 'build-config.json failed. commands[0] ended with exit code 4.',
    });
  });

  test('says that a plan was not executed', () => {
    const { top, data } = pageOf({ ...notRun, result: { ...result, execution: null } });
    expect(top.sentence).toContain('Nothing ran, because the mode is plan-only.');
    expect(data).toMatchObject({ step: null, ended: null });
    expect(data.checks.shown.map(({ held }) => held)).toEqual([null]);
    expect(data.plan?.commands.shown.map(({ state }) => state)).toEqual(['not run']);
  });

  test('is REFUSE, with every reason', () => {
    const refused = { kernel_result_kind: 'REFUSE', bundle: null, execution: null, decision: no } as const;
    const { top, data } = pageOf({
      ...notRun,
      bundle: undefined,
      result: { ...result, ...refused, refuse_reason: 'x' },
    });
    expect(top).toMatchObject({ tone: 'bad', word: 'REFUSE' });
    expect(data).toMatchObject({ kind: 'REFUSE', plan: null, reasons: { shown: no.reasons, total: 1 } });
  });

  test('is CLARIFY, with a file for the answers and the command that uses it', () => {
    const questions = [
      { id: 'q_0123456789abcdef', key: 'version', text: 'version: Which one?' },
      { id: 'q_0123456789abcdee', key: 'accept[0]', text: 'accept[0]: Is it 0?' },
    ];
    const asked = questions.map(({ text }) => text);
    const clarify = { kernel_result_kind: 'CLARIFY', execution: null, decision: no, clarify_questions: asked } as const;
    const { top, data } = pageOf({
      ...notRun,
      bundle: { ...plan, status: 'incomplete', questions },
      result: { ...result, ...clarify },
    });
    expect(top).toMatchObject({ tone: 'unsure', word: 'CLARIFY' });
    expect(top.sentence).toContain('Answer 2 questions');
    expect(JSON.parse(data.questions?.template ?? '')).toEqual({ version: null, 'accept[0]': null });
    expect(data.questions?.command?.command).toBe(
      'proctor run intent build-config.json --policy strict --mode execute-sandbox --answers answers.json',
    );
    expect(data.commands.some(({ does }) => does === 'Run the intent file again')).toBe(false);
  });

  test('warns first if the folder does not verify', () => {
    expect(pageOf({ isWhole: false }).top).toMatchObject({ tone: 'bad', word: 'Does not verify' });
  });

  test('says what to do about an interrupted run', () => {
    const { top, data } = pageOf({ ...notRun, result: undefined, bundle: undefined, intent: undefined, life: 'dead' });
    expect(top).toMatchObject({ tone: 'unsure', word: 'Interrupted' });
    expect(data).toMatchObject({ kind: null, plan: null });
    expect(data.commands.map(({ command }) => command)).toEqual(['proctor recover']);
  });
});

describe('the plan of an intent', () => {
  const commands = [{ argv: ['node', 'a'] }, { argv: ['node', 'b'] }, { argv: ['node', 'c'] }];
  const statesOf = (over: Partial<IntentOutcome>) =>
    pageOf({
      bundle: { ...plan, commands },
      outcome: { ...outcome, commands_total: 3, ...over },
    }).data.plan?.commands.shown.map(({ state }) => state);

  test('shows which command failed, and which did not run', () => {
    expect(statesOf({ command: 1, ending: { how: 'exited', code: 4 } })).toEqual(['ended with 0', 'failed', 'not run']);
    expect(statesOf({ command: 2, ending: { how: 'exited', code: 0 } })).toEqual(Array(3).fill('ended with 0'));
  });

  test('claims nothing about commands that an interruption hides', () => {
    expect(statesOf({ command: null, ending: { how: 'lost' } })).toEqual(Array(3).fill('unknown'));
  });

  test('puts what the intent asks for beside what the profile allows', () => {
    const bounds = pageOf().data.plan?.bounds ?? [];
    const asked = (intent.example as Intent).limits?.timeout_ms ?? null;
    expect(bounds[0]).toEqual({ name: 'Time', unit: 'ms', asked, allowed: 60_000, planned: 20_000 });
    expect(bounds.find(({ name }) => name === 'Network')).toMatchObject({ allowed: 'no', planned: 'no' });
  });

  test('lists failed checks first, with what they expect', () => {
    const checks = [
      { check: 'file_exists', path: 'out/c.json', held: true, message: null },
      { check: 'content_matches', path: 'out/d.json', held: false, message: 'There is no match.' },
    ] satisfies IntentOutcome['checks'];
    const accept = [
      { check: 'file_exists', path: 'out/c.json' },
      { check: 'content_matches', path: 'out/d.json', pattern: '^x' },
    ] satisfies Bundle['accept'];
    const { data } = pageOf({ bundle: { ...plan, accept }, outcome: { ...outcome, checks } });
    expect(data.checks.shown.map(({ held, expects }) => [held, expects])).toEqual([
      [false, '^x'],
      [true, null],
    ]);
  });
});

test('a hostile intent cannot make the page large', () => {
  const text = 'x'.repeat(100_000);
  const many = Array.from({ length: 3_000 }, () => text);
  const { data } = pageOf({
    intent: { ...(intent.example as Intent), goal: text, constraints: many },
    bundle: { ...plan, commands: many.map(word => ({ argv: [word, ...many] })) },
    result: { ...result, decision: { ...result.decision, reasons: many } },
  });
  expect(data.constraints.total).toBe(3_000);
  expect(data.plan?.commands.total).toBe(3_000);
  expect(JSON.stringify(data).length).toBeLessThan(4_000_000);
});
