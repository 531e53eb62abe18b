import { describe, expect, test } from 'vitest';
import { decided, node, questionsIn } from './world.ts';

const MODES = ['plan-only', 'execute-sandbox'] as const;

describe.each(MODES)('in mode %s, a plan of 0 files, 0 commands and 0 outputs', mode => {
  test.each<[string, object]>([
    ['of a bare goal', {}],
    ['of a goal with a constraint on behaviour', { constraints: ['Must return HTTP 400 for invalid input'] }],
    ['of a goal with a constraint on its output', { constraints: ['Output must be a single runbook.md file'] }],
    ['of empty lists', { files: [], commands: [], outputs: [], accept: [], constraints: [] }],
    ['that only has limits and context', { limits: { timeout_ms: 5_000 }, context: { a: 1 }, network: false }],
    ['that only has a check', { accept: [{ check: 'exit_code', equals: 0 }] }],
  ])('%s leads to one question that names --planner', (_, rest) => {
    const decision = decided({ goal: 'Write the runbook', ...rest }, { mode });
    expect(questionsIn(decision)).toEqual(['commands']);
    const [question = ''] = decision.kind === 'CLARIFY' ? decision.questions : [];
    expect(question).toMatch(/^commands: What makes it so\? .*\bcommands, files or outputs\b.*--planner\b/);
  });

  test('is completed by an answer that adds commands', () => {
    const answers = { commands: { commands: [node('0')], outputs: ['out/runbook.md'] } };
    expect(decided({ goal: 'Write the runbook' }, { mode, answers }).kind).toBe('BUNDLE');
  });

  test('is asked about again if the answer adds nothing', () => {
    expect(questionsIn(decided({ goal: 'g' }, { mode, answers: { commands: { accept: [] } } }))).toEqual(['commands']);
  });

  test('is asked about if an answer removed everything', () => {
    const answers = { 'outputs[0].command': false };
    expect(questionsIn(decided({ goal: 'g', outputs: ['out/a'] }, { mode, answers }))).toEqual(['commands']);
  });

  test('is asked about after other questions are answered', () => {
    expect(questionsIn(decided({ goal: 'Deploy <service>' }, { mode }))).toEqual(['service', 'commands']);
    expect(questionsIn(decided({ goal: 'Deploy <service>' }, { mode, answers: { service: 'web' } }))).toEqual([
      'commands',
    ]);
  });
});

test('a plan of files alone is complete, but leads to a question if it is to be executed', () => {
  const intent = { goal: 'g', files: [{ path: 'out/a.md', content: '' }] };
  expect(decided(intent).kind).toBe('BUNDLE');
  expect(questionsIn(decided(intent, { mode: 'execute-sandbox' }))).toEqual(['commands']);
});
