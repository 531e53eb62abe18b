/** Reads the folders of both sides independently, using only the contract of agent artifacts. */
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Evaluation } from '../../../src/contracts/evaluation/index.ts';
import { temporaryFolder } from '../../support/support.ts';
import { Agent, answersWell, saying, sending } from './agent.ts';
import { type EvaluatorCase, evaluated } from './evaluator.ts';
import { expectValid, type Ran, ranSuite } from './support.ts';

const CASES: readonly EvaluatorCase[] = [
  { id: 'plain', expected: { must_include: ['you asked'] } },
  { id: 'tools', expected: { tool_required: ['orders.get'] } },
  { id: 'proven', expected: { action_required: ['refund'], evidence_required_for_actions: true } },
  { id: 'unproven', expected: { evidence_required_for_actions: true } },
  { id: 'down', expected: { must_include: ['you asked'] } },
  { id: 'silent' },
];

const call = { type: 'tool_call', ts: 1, call_id: 'c1', tool: 'orders.get', args: {} };
const result = { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', latency_ms: 3 };
const refund = {
  action_id: 'a1',
  action_type: 'refund',
  tool_name: 'pay',
  params: {},
  risk_level: 'high',
  risk_tags: [],
  evidence_refs: [{ kind: 'tool_result', call_id: 'c1' }],
};

const STATED = {
  agent_id: 'refunds',
  agent_version: '2.1.0',
  model: 'm-1',
  model_version: '2026-01',
  prompt_version: 'p7',
  tools_version: 't3',
  config_hash: 'sha256:0c9b8a7f',
};

async function bothSides(stated: { baseline: object; new: object }): Promise<{ baseline: Ran; new: Ran }> {
  const cwd = temporaryFolder();
  const behaviours = {
    tools: saying({ events: [call, result] }),
    proven: saying({ events: [call, result], proposed_actions: [refund] }),
    unproven: saying({ events: [call], proposed_actions: [refund] }),
    silent: sending('', {}, 200),
  };
  const run = async (as: 'baseline' | 'new', down: typeof answersWell): Promise<Ran> => {
    const baseUrl = await new Agent({ ...behaviours, down }).start();
    return ranSuite(CASES, { cwd, as, baseUrl, out: 'runs', runId: 'night-7', provenance: stated[as] });
  };
  return { baseline: await run('baseline', answersWell), new: await run('new', sending('{"oops":1}', {}, 503)) };
}

const verdictsIn = ({ bytes }: Ran): Record<string, boolean> => {
  const { cases } = JSON.parse(bytes('evaluation.json').toString()) as Evaluation;
  return Object.fromEntries(cases.map(({ case_id, verdict }) => [case_id, verdict === 'pass']));
};

test('an evaluator that requires provenance reads both sides and reaches the same verdicts', async () => {
  const sides = await bothSides({ baseline: STATED, new: { ...STATED, agent_version: '2.2.0', prompt_version: 'p8' } });
  const { baseline, new: candidate, changed } = evaluated(sides.baseline.folder, sides.new.folder, CASES);
  const good = { plain: true, tools: true, proven: true, unproven: false, down: true, silent: false };
  expect(baseline).toEqual(good);
  expect(candidate).toEqual({ ...good, down: false });
  expect(baseline).toEqual(verdictsIn(sides.baseline));
  expect(candidate).toEqual(verdictsIn(sides.new));
  expect(changed).toEqual(['agent_version', 'prompt_version']);
  for (const { folder } of Object.values(sides)) await expectValid(folder);
});

test('the evaluator reads copied folders the same way', async () => {
  const sides = await bothSides({ baseline: STATED, new: STATED });
  const elsewhere = temporaryFolder();
  cpSync(path.dirname(path.dirname(sides.new.folder)), elsewhere, { recursive: true });
  const [before, now] = ['baseline', 'new'].map(side => path.join(elsewhere, side, 'night-7')) as [string, string];
  expect(evaluated(before, now, CASES)).toEqual(evaluated(sides.baseline.folder, sides.new.folder, CASES));
});

test('the provenance of a run contains only stated values', async () => {
  const { baseline, new: candidate } = await bothSides({
    baseline: { agent_id: 'refunds', commit: 'c0ffee' },
    new: {},
  });
  expect(baseline.run.provenance).toEqual({ agent_id: 'refunds' });
  expect(candidate.run).not.toHaveProperty('provenance');
  expect(() => evaluated(baseline.folder, candidate.folder, CASES)).toThrow('provenance.agent_version');
  const request = JSON.parse(readFileSync(path.join(baseline.folder, 'evidence/request.json'), 'utf8')) as object;
  expect(request).toMatchObject({ provenance: { agent_id: 'refunds', commit: 'c0ffee' } });
});
