import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { baseline as contract } from '../../src/contracts/baseline/index.ts';
import type { Baseline } from '../../src/contracts/baseline/index.ts';
import { check } from '../../src/contracts/check.ts';
import { packOf } from '../../src/judge/compare/baseline-pack.ts';
import { evaluateSuite } from '../../src/judge/suite/evaluate.ts';
import { trialFrom } from '../../src/judge/compare/side.ts';
import { acceptBaseline, compareRuns, runSuite } from '../../src/verbs/index.ts';
import { isPackAway, reportOf, reportSubject } from '../../src/verbs/report.ts';
import { terminalText } from '../../src/verbs/terminal.ts';
import { Agent, saying } from '../run/suite/agent.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { temporaryFolder } from '../support/support.ts';

const calls = (tool: string) =>
  saying({
    events: [
      { type: 'tool_call', ts: 1, call_id: 'c1', tool, args: { id: 1 } },
      { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', latency_ms: 1, payload_summary: 'an order' },
    ],
  });

const cases = [0, 1, 2].map(number => ({
  id: `case-${number}`,
  input: { user: `Question ${number}` },
  expected: { tool_required: 'orders.get', contains: 'asked' },
}));

/** A project with an accepted baseline, and a candidate that calls another tool in one case. */
async function accepted(now: readonly object[] = cases): Promise<string> {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'before.json'), JSON.stringify(cases));
  writeFileSync(path.join(cwd, 'now.json'), JSON.stringify(now));
  const behaviours = Object.fromEntries(cases.map(({ id }) => [id, calls('orders.get')]));
  const good = await new Agent(behaviours).start();
  const worse = await new Agent({ ...behaviours, 'case-1': calls('orders.list') }).start();
  await runSuite({ cases: 'before.json', cwd, baseUrl: good, as: 'baseline', repeat: 2 });
  await runSuite({ cases: 'now.json', cwd, baseUrl: worse, as: 'new', repeat: 2 });
  await acceptBaseline('baseline', 'proctor-baseline.json', cwd);
  return cwd;
}

const compare = (cwd: string, baseline = 'proctor-baseline.json') =>
  compareRuns({ baseline, candidate: 'new', formats: ['html'], cwd });

test('finds the same causes against an accepted baseline as against its runs', async () => {
  const cwd = await accepted();
  const { comparison: byRuns } = await compare(cwd, 'baseline');
  const { comparison, files } = await compare(cwd);
  const divergence = byRuns.cases.map(one => one.divergence);
  expect(divergence[1]).toMatchObject({ kind: 'tool_choice', confidence: 'high', baseline_at: 'events[0]' });
  expect(comparison.cases.map(one => one.divergence)).toEqual(divergence);
  expect(comparison.sides.baseline).toMatchObject({ source: 'accepted', pack: 'read' });
  expect(terminalText({ comparison }, (_, text) => text)).not.toContain('guess');
  // The report shows the events that the cause cites, from the pack.
  expect(readFileSync(files.html ?? '', 'utf8')).toContain('"tool":"orders.get"');
});

test('shows what a case lost since the baseline was accepted', async () => {
  const weaker = [...cases.slice(0, 2), { ...cases[2], expected: { contains: 'asked' } }];
  const { comparison } = await compare(await accepted(weaker));
  expect(comparison.cases[2]?.changed).toEqual({
    differences: [{ what: 'lost', at: 'expected.tool_required', baseline: 'orders.get', new: null }],
  });
});

describe('a report that is written later, without the runs of the baseline', () => {
  const now = [...cases.slice(0, 2), { ...cases[2], expected: { contains: 'asked' } }];

  /** Compares after the runs of the baseline are removed, as on a CI machine. */
  async function comparedWithoutRuns(): Promise<{ cwd: string; folder: string }> {
    const cwd = await accepted(now);
    rmSync(path.join(cwd, '.proctor', 'runs', 'baseline'), { recursive: true });
    const { folder } = await compare(cwd);
    return { cwd, folder };
  }

  const WHOLE = { answers: true, was: true, isAway: false };

  const pageOf = async (cwd: string, folder: string, baseline?: string) => {
    const { subject } = await reportSubject(folder, cwd, { baseline });
    const html = [...reportOf(subject, 'html').pieces].join('');
    const shows = { answers: html.includes('"version":"baseline"'), was: html.includes('"was":{"input"') };
    return { ...shows, isAway: isPackAway(subject) };
  };

  test('shows the answers of the baseline and the old version of a changed case from the pack', async () => {
    const { cwd, folder } = await comparedWithoutRuns();
    expect(await pageOf(cwd, folder)).toEqual(WHOLE);
  });

  test('finds the baseline in proctor/baselines, and elsewhere if the user names it', async () => {
    const { cwd, folder } = await comparedWithoutRuns();
    const move = (to: string): void => {
      mkdirSync(path.dirname(path.join(cwd, to)), { recursive: true });
      for (const ending of ['json', 'pack'])
        renameSync(path.join(cwd, `proctor-baseline.${ending}`), path.join(cwd, `${to}.${ending}`));
    };
    move('proctor/baselines/desk');
    expect(await pageOf(cwd, folder)).toEqual(WHOLE);
    renameSync(path.join(cwd, 'proctor/baselines'), path.join(cwd, 'elsewhere'));
    expect(await pageOf(cwd, folder)).toEqual({ answers: false, was: false, isAway: true });
    expect(await pageOf(cwd, folder, 'elsewhere/desk.json')).toEqual(WHOLE);
  });

  test('ignores another baseline, and refuses it if the user names it', async () => {
    const { cwd, folder } = await comparedWithoutRuns();
    await acceptBaseline('new', 'proctor-baseline.json', cwd);
    expect((await pageOf(cwd, folder)).isAway).toBe(true);
    await expect(pageOf(cwd, folder, 'proctor-baseline.json')).rejects.toThrow('its seal differs');
  });
});

test('reports a missing pack and guesses the causes', async () => {
  const cwd = await accepted();
  rmSync(path.join(cwd, 'proctor-baseline.pack'));
  const { comparison } = await compare(cwd);
  expect(comparison.sides.baseline.pack).toBe('missing');
  expect(comparison.cases[1]?.divergence?.confidence ?? 'low').toBe('low');
  expect(terminalText({ comparison }, (_, text) => text)).toContain("The baseline's pack is missing");
});

test('rejects a changed pack and names it', async () => {
  const cwd = await accepted();
  const file = path.join(cwd, 'proctor-baseline.pack');
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(700) ^ 1, 700);
  writeFileSync(file, bytes);
  await expect(compare(cwd)).rejects.toThrow('proctor-baseline.pack is not the pack that was accepted with');
  writeFileSync(file, Buffer.concat([bytes, bytes]));
  await expect(compare(cwd)).rejects.toThrow('proctor-baseline.pack is not the pack that was accepted with');
});

test('seals the description of the pack with the baseline, and writes one line per trial', async () => {
  const cwd = await accepted();
  const text = readFileSync(path.join(cwd, 'proctor-baseline.json'), 'utf8');
  const baseline = JSON.parse(text) as Baseline;
  expect(baseline.pack).toMatchObject({ artifacts: 6, left_out: 0 });
  expect(check(contract, baseline, { strict: true, internal: false }).violations).toEqual([]);
  const forged = { ...baseline, pack: { ...baseline.pack, artifacts: 5 } };
  expect(check(contract, forged, { strict: true, internal: false }).violations).not.toEqual([]);
  const trials = text.split('\n').filter(line => line.includes('"verdict"'));
  expect(trials).toHaveLength(6);
  expect(Math.max(...trials.map(line => line.length))).toBeLessThan(400);
});

test('keeps five trials per case in the pack, passing ones first, and counts those that do not fit', async () => {
  const root = temporaryFolder();
  const trials = [];
  for (let number = 1; number <= 7; number++) {
    const content = number <= 2 ? 'No.' : 'Yes.';
    const folder = await suiteFolder(root, {
      runId: `suite_20260106_120000_00000000000${number}`,
      cases: [
        { id: 'a', expected: { contains: 'Yes' }, artifact: { final_output: { content_type: 'text', content } } },
      ],
    });
    const runCheck = () => Promise.reject(new Error('no case here has a script'));
    trials.push(trialFrom(folder, await evaluateSuite(folder, { runCheck })));
  }
  const { bytes, note } = packOf({ source: 'runs', trials });
  expect(note).toMatchObject({ artifacts: 5, left_out: 0, bytes: bytes.length });
  const names = [...bytes.toString('latin1').matchAll(/(?:cases|trials\/\d)\/a\.json/g)].map(([name]) => name);
  expect(names).toEqual(['cases/a.json', ...[3, 4, 5, 6, 7].map(number => `trials/${number}/a.json`)]);
  const small = packOf({ source: 'runs', trials }, 5_000);
  expect(small.bytes.length).toBeLessThanOrEqual(5_000);
  expect(small.note.artifacts + small.note.left_out).toBe(5);
  expect(small.note.left_out).toBeGreaterThan(0);
});
