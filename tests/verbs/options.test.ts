import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { acceptBaseline, packRun, recover, reproduce, resumeSuite, runIntent, unpack } from '../../src/verbs/index.ts';
import { temporaryFolder } from '../support/support.ts';

/** JavaScript callers have no compiler to check their options. */
const verbs = { acceptBaseline, packRun, recover, reproduce, resumeSuite, runIntent, unpack };
const call = verbs as unknown as Record<keyof typeof verbs, (...given: unknown[]) => Promise<unknown>>;

const UNKNOWN = (verb: string) => new RegExp(`^${verb} has no option "too"\\. Options: .*\\b(?:cwd|signingKey)\\b`);

test.each<[string, (cwd: string, intent: string) => Promise<unknown>, RegExp]>([
  [
    'an invalid mode',
    (cwd, intent) => call.runIntent({ intent, cwd, mode: 'execute' }),
    /^mode must be plan-only or execute-sandbox\./,
  ],
  [
    'an invalid model mode',
    (cwd, intent) => call.runIntent({ intent, cwd, modelMode: 'live' }),
    /^modelMode must be none or record or replay\./,
  ],
  [
    'answers that are not a path',
    (cwd, intent) => call.runIntent({ intent, cwd, answers: { a: 1 } }),
    /^answers must be the path of a file/,
  ],
  [
    'a recording that is not a path',
    (cwd, intent) => call.runIntent({ intent, cwd, recording: [] }),
    /^recording must be the path of a file/,
  ],
  ['an unknown option of runIntent', (cwd, intent) => call.runIntent({ intent, cwd, too: 1 }), UNKNOWN('runIntent')],
  ['an unknown option of reproduce', cwd => call.reproduce('x', { cwd, too: 1 }), UNKNOWN('reproduce')],
  ['an unknown option of packRun', cwd => call.packRun('x', { cwd, too: 1 }), UNKNOWN('packRun')],
  ['an unknown option of unpack', (cwd, intent) => call.unpack(intent, { cwd, too: 1 }), UNKNOWN('unpack')],
  [
    'an unknown option of acceptBaseline',
    cwd => call.acceptBaseline('x', 'baseline.json', cwd, { too: 1 }),
    UNKNOWN('acceptBaseline'),
  ],
  ['an unknown option of recover', cwd => call.recover(cwd, { too: 1 }), UNKNOWN('recover')],
  ['an unknown option of resumeSuite', cwd => call.resumeSuite('x', { cwd, too: 1 }), UNKNOWN('resumeSuite')],
  ['a missing run for reproduce', () => call.reproduce(), /^reproduce requires a run: /],
  ['a missing run for packRun', () => call.packRun(), /^packRun requires a run: /],
  ['a missing pack for unpack', () => call.unpack(), /^unpack requires a pack: /],
])('rejects %s, and has no side effects', async (_, called, sentence) => {
  const cwd = temporaryFolder();
  const intent = path.join(cwd, 'intent.json');
  writeFileSync(intent, '{"goal":"Run nothing","commands":[{"argv":["node","-e","0"]}]}');
  await expect(called(cwd, intent)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(sentence) as string,
  });
  expect(readdirSync(cwd)).toEqual(['intent.json']);
});
