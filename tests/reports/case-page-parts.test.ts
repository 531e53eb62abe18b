import { describe, expect, test } from 'vitest';
import type { PageCase, PageTrial } from '../../src/reports/page-data.ts';
import { filledCommand } from '../../web/report/command-text.ts';
import { choiceIn, choiceText, chosenCase, firstChoice } from '../../web/report/trial-choice.ts';
import { addressOf, hrefOf } from '../../web/report/address.ts';

const trial = (run_id: string): PageTrial => ({
  run_id,
  verdict: 'pass',
  error_class: null,
  output_hash: null,
  latency_ms: null,
  cost_usd: null,
  score: null,
});

const data = {
  trials: { baseline: [trial('b1'), trial('b2')], new: [trial('n1'), trial('n2'), trial('n3')] },
  shown: { baseline: 'b1', new: 'n2' },
  assets: { baseline: {}, new: {} },
  cuts: [],
  baseline: null,
  new: null,
  divergence: { kind: 'output', baseline_at: null, new_at: null, says: '', confidence: 'low', cites: [] },
} as unknown as PageCase;

describe('the trials of a case', () => {
  test('start with those that the cause cites', () => {
    expect(firstChoice(data)).toEqual({ baseline: 1, new: 2 });
    expect(choiceIn('', data)).toEqual({ baseline: 1, new: 2 });
  });

  test.each(['new:9', 'new:0', 'new:1.5', 'new:x', 'other:1', ':::', 'constructor:1'])(
    'ignore a choice that does not exist: %s',
    asked => {
      expect(choiceIn(asked, data)).toEqual({ baseline: 1, new: 2 });
    },
  );

  test('are chosen per side in the address, and another case starts afresh', () => {
    const choice = choiceIn('baseline:2,new:3', data);
    expect(choice).toEqual({ baseline: 2, new: 3 });
    expect(choiceText(choice, firstChoice(data))).toBe('baseline:2,new:3');
    const address = addressOf('#case=a&trial=new%3A3');
    expect(hrefOf(address, { at: 'new:events[1]' })).toContain('trial=new%3A3');
    expect(hrefOf(address, { case: 'b' })).not.toContain('trial');
  });

  test('show no divergence of other trials, and name those that the page lacks', () => {
    const artifact = { case_id: 'a' } as unknown as PageCase['new'];
    const { data: chosen, lacking } = chosenCase(data, { baseline: 2, new: 3 }, side =>
      side === 'new' ? { artifact, attempts: null, assets: { x: 'y' }, cuts: ['Cut.'] } : undefined,
    );
    expect(chosen).toMatchObject({ new: artifact, baseline: null, divergence: null, cuts: ['Cut.'] });
    expect(chosen.shown).toEqual({ baseline: 'b2', new: 'n3' });
    expect(lacking).toEqual(['baseline']);
  });
});

describe('a command', () => {
  const values = { id: 'late', input: { user: "It's late.\nWhy?", context: { a: 1 } }, runs: { new: 'suite_1' } };

  test('is filled with the case, the run and the question', () => {
    expect(filledCommand({ words: ['proctor', 'resend', { put: 'new' }, { put: 'case' }] }, values)).toEqual({
      text: 'proctor resend suite_1 late',
    });
    expect(filledCommand({ words: ['proctor', 'try', 'desk', { put: 'question' }] }, values)).toEqual({
      text: `proctor try desk --context '{"a":1}' $'It\\047s late.\\012Why?'`,
    });
  });

  test('is left out if its run is not in the project, or the page has no input', () => {
    expect(filledCommand({ words: ['proctor', 'show', { put: 'baseline' }] }, values)).toBeUndefined();
    expect(filledCommand({ words: [{ put: 'question' }] }, { ...values, input: null })).toBeUndefined();
  });

  test('says why it cannot be pasted', () => {
    const question = (user: string) => filledCommand({ words: [{ put: 'question' }] }, { ...values, input: { user } });
    expect(question('a\0b')).toEqual({ why: expect.stringContaining('NUL') });
    expect(question('x'.repeat(9_000))).toEqual({ why: expect.stringContaining('too long') });
    expect(question('--help')).toEqual({ text: '-- --help' });
  });
});
