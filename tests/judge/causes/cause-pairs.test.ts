import { describe, expect, test } from 'vitest';
import { CAUSES } from '../../../bench/cause-pairs.ts';
import { isRight, precisionOf, recallOf, scoresOf } from '../../../bench/cause-scores.ts';
import { caseArtifact, type CaseArtifact, eventsOf } from '../../../src/contracts/artifacts/index.ts';
import { check } from '../../../src/contracts/check.ts';

const PAIRS_EACH = 30;
const SEED = 4_711;
const scores = scoresOf(SEED, PAIRS_EACH);

const toolsOf = (artifact: CaseArtifact | undefined): string[] =>
  [...eventsOf('tool_call', artifact?.events ?? [])].map(([, { tool }]) => tool);

describe('pairs with a planted cause', () => {
  test('are reproducible by seed, and consist of valid artifacts', () => {
    expect(scoresOf(SEED, 2)).toEqual(scoresOf(SEED, 2));
    expect(scoresOf(SEED, 2)).not.toEqual(scoresOf(SEED + 1, 2));
    for (const { scene } of scores) {
      for (const artifact of Object.values(scene.artifacts)) {
        expect(check(caseArtifact, artifact, { strict: false, internal: false }).violations).toEqual([]);
      }
    }
  });

  test('get the right cause at least 19 times in 20 at high confidence, for five kinds or more', () => {
    const high = scores.filter(({ named }) => named?.confidence === 'high');
    expect(precisionOf(scores, ({ confidence }) => confidence === 'high')).toBeGreaterThanOrEqual(0.95);
    expect(new Set(high.map(({ named }) => named?.kind)).size).toBeGreaterThanOrEqual(5);
  });

  test('get the right cause more often at higher confidence', () => {
    const [high, medium, low] = (['high', 'medium', 'low'] as const).map(confidence =>
      precisionOf(scores, named => named.confidence === confidence),
    ) as [number, number, number];
    expect(high).toBeGreaterThan(medium);
    expect(medium).toBeGreaterThan(low);
  });

  // The steps show an environment change only as a failing tool, so fewer are found.
  test.each(CAUSES)('of the kind %s reach the required recall', cause => {
    expect(recallOf(scores, cause)).toBeGreaterThanOrEqual(cause === 'environment' ? 0.3 : 0.5);
  });

  test('never report an existing call as missing, and never have high confidence about a call that both sides make', () => {
    let omissions = 0;
    for (const { named, scene } of scores) {
      const tool = /did not call “(.*?)”/.exec(named?.says ?? '')?.[1];
      if (tool !== undefined) {
        omissions++;
        expect(toolsOf(scene.artifacts.candidate)).not.toContain(tool);
      }
      if (named?.confidence !== 'high' || named.kind !== 'tool_choice') continue;
      const [before, now] = [toolsOf(scene.artifacts.baseline), toolsOf(scene.artifacts.candidate)];
      for (const word of /^(.*?)\. /.exec(named.says)?.[1]?.match(/“.*?”/g) ?? []) {
        const name = word.slice(1, -1);
        expect(before.includes(name) && now.includes(name), named.says).toBe(false);
      }
    }
    expect(omissions).toBeGreaterThan(0);
  });

  test('get the right cause, or one that cites a difference', () => {
    for (const score of scores) {
      if (score.named && !isRight(score)) expect(score.named.cites.length).toBeGreaterThan(0);
    }
  });
});
