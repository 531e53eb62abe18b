import { expect, test } from 'vitest';
import { addFlips, flipsOf, shareOf } from '../../../src/verbs/history/flakiness.ts';

/** Letters of runs of the same version; a bar starts another version. */
function share(text: string): number | null {
  let version = 0;
  const runs = text.split(' ').flatMap(letters => {
    if (letters !== '|') return [{ letters, version: String(version) }];
    version++;
    return [];
  });
  return shareOf(flipsOf(runs).reduce(addFlips, { flips: 0, pairs: 0 }));
}

test.each([
  ['p', null, 'one trial'],
  ['p | f', null, 'one trial of each version'],
  ['ppp', 0, 'equal trials'],
  ['pfp', 1, 'trials that alternate within a run'],
  ['pf', 1, 'two trials of one run that differ'],
  ['p p f f f', 0, 'a case that breaks once and stays broken'],
  ['p f p f', 1, 'a case that goes back and forth between runs of one version'],
  ['p | f | p', null, 'a case that changes with the version'],
  ['pp | ff', 0, 'a change between two versions with several trials'],
  ['pn un fp', 1, 'trials without a verdict are skipped'],
] as const)('%s has the flakiness %s: %s', (text, flakiness, why) => {
  expect(share(text), why).toBe(flakiness);
});

test('counts a flip in the run of the later trial', () => {
  const runs = ['p', 'f', 'pp'].map(letters => ({ letters, version: '1' }));
  expect(flipsOf(runs)).toEqual([
    { flips: 0, pairs: 0 },
    { flips: 1, pairs: 1 },
    { flips: 1, pairs: 2 },
  ]);
});
