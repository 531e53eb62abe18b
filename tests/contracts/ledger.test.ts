import { describe, expect, test } from 'vitest';
import { ledgerLine } from '../../src/contracts/ledger/index.ts';
import { exampleWith, judged, rulesOf } from '../support/support.ts';
import { judgedTitles } from './artifacts-words.ts';

const HASH = `sha256:${'0'.repeat(64)}`;

describe('a ledger line', () => {
  test.each(
    judgedTitles<Record<string, unknown>>([
      ['of the first run', { sequence: 1, previous_sha256: null }, []],
      ['of a script', { kind: 'script', intent: null }, []],
      ['of a suite with a custom name', { kind: 'suite', run_id: 'nightly.2', intent: null }, []],
      [
        'of a refused intent',
        { 'intent.result_kind': 'REFUSE', 'intent.bundle_sha256': null, 'intent.accepted': false },
        [],
      ],
      [
        'of an intent with open questions',
        { 'intent.result_kind': 'CLARIFY', 'intent.accepted': false, 'intent.mode': 'plan-only' },
        [],
      ],
      ['of an intent without its result', { intent: null }, ['LD7']],
      ['of a script with an intent result', { kind: 'script' }, ['LD7']],
      ['of an unknown kind', { kind: 'dream' }, ['LD3']],
      ['of a refusal with a bundle', { 'intent.result_kind': 'REFUSE', 'intent.accepted': false }, ['LD7']],
      ['of an accepted CLARIFY', { 'intent.result_kind': 'CLARIFY' }, ['LD7']],
      ['with an unknown mode', { 'intent.mode': 'record' }, ['LD7']],
      ['with an invalid profile name', { 'intent.policy': '../strict' }, ['LD7']],
      ['with a malformed intent hash', { 'intent.intent_sha256': 'x' }, ['LD4']],
      ['with a bundle hash in upper case', { 'intent.bundle_sha256': HASH.toUpperCase() }, ['LD4']],
      ['without a seal hash', { seal_sha256: undefined }, ['LD4']],
      ['with a sequence of 0', { sequence: 0 }, ['LD5']],
      ['with a sequence that is a string', { sequence: '7' }, ['LD5']],
      ['with a previous hash in the first line', { sequence: 1 }, ['LD6']],
      ['with a null previous hash after the first line', { previous_sha256: null }, ['LD6']],
      ['with a malformed previous hash', { previous_sha256: 'abc' }, ['LD6']],
      ['without a previous hash', { previous_sha256: undefined }, ['LD6']],
      ['with an invalid date', { sealed_at: '2026-02-30T00:00:00.000Z' }, ['LD2']],
      ['of a run without a name', { run_id: '' }, ['LD3']],
    ]),
  )('%s', async (_, changes, broken) => {
    expect(rulesOf(await judged(ledgerLine, exampleWith(ledgerLine, changes)))).toEqual(broken);
  });

  test('fits into the size limit at its maximum length', async () => {
    const longest = exampleWith(ledgerLine, {
      run_id: 'r'.repeat(100),
      sequence: Number.MAX_SAFE_INTEGER,
      'intent.policy': `p${'o'.repeat(63)}`,
    });
    expect((await judged(ledgerLine, longest)).outcome).toBe('valid');
    expect(JSON.stringify(longest).length * 2).toBeLessThan(ledgerLine.bytesMax);
  });
});
