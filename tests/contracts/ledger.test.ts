import { describe, expect, test } from 'vitest';
import { ledgerLine } from '../../src/contracts/ledger/index.ts';
import { exampleWith, judged, rulesOf } from '../support.ts';

const HASH = `sha256:${'0'.repeat(64)}`;

describe('a line of a ledger', () => {
  test.each<[string, Record<string, unknown>, string[]]>([
    ['of the first run of all', { sequence: 1, previous_sha256: null }, []],
    ['of a script', { kind: 'script', intent: null }, []],
    ['of a suite that a person named', { kind: 'suite', run_id: 'nightly.2', intent: null }, []],
    [
      'of an intent that was refused',
      { 'intent.result_kind': 'REFUSE', 'intent.bundle_sha256': null, 'intent.accepted': false },
      [],
    ],
    [
      'of an intent that asks back',
      { 'intent.result_kind': 'CLARIFY', 'intent.accepted': false, 'intent.mode': 'plan-only' },
      [],
    ],
    ['of an intent of which nothing is told', { intent: null }, ['LD7']],
    ['of a script with an intent', { kind: 'script' }, ['LD7']],
    ['of another kind', { kind: 'dream' }, ['LD3']],
    ['of a refusal with a bundle', { 'intent.result_kind': 'REFUSE', 'intent.accepted': false }, ['LD7']],
    ['of a question that was accepted', { 'intent.result_kind': 'CLARIFY' }, ['LD7']],
    ['in another mode', { 'intent.mode': 'record' }, ['LD7']],
    ['with the name of no profile', { 'intent.policy': '../strict' }, ['LD7']],
    ['with a hash of an intent in another form', { 'intent.intent_sha256': 'x' }, ['LD4']],
    ['with a hash of a bundle in another form', { 'intent.bundle_sha256': HASH.toUpperCase() }, ['LD4']],
    ['without the hash of its seal', { seal_sha256: undefined }, ['LD4']],
    ['with a sequence of 0', { sequence: 0 }, ['LD5']],
    ['with a sequence that is a text', { sequence: '7' }, ['LD5']],
    ['with a hash before the first', { sequence: 1 }, ['LD6']],
    ['with no hash after the first', { previous_sha256: null }, ['LD6']],
    ['with a hash of the line before in another form', { previous_sha256: 'abc' }, ['LD6']],
    ['without the key for it', { previous_sha256: undefined }, ['LD6']],
    ['on a day that no calendar has', { sealed_at: '2026-02-30T00:00:00.000Z' }, ['LD2']],
    ['of a run that has no name', { run_id: '' }, ['LD3']],
  ])('%s', async (_, changes, broken) => {
    expect(rulesOf(await judged(ledgerLine, exampleWith(ledgerLine, changes)))).toEqual(broken);
  });

  test('is as long as it can be within its bound', async () => {
    const longest = exampleWith(ledgerLine, {
      run_id: 'r'.repeat(100),
      sequence: Number.MAX_SAFE_INTEGER,
      'intent.policy': `p${'o'.repeat(63)}`,
    });
    expect((await judged(ledgerLine, longest)).outcome).toBe('valid');
    expect(JSON.stringify(longest).length * 2).toBeLessThan(ledgerLine.bytesMax);
  });
});
