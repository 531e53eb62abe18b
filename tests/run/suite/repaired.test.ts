import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Evaluation } from '../../../src/contracts/evaluation/index.ts';
import { suiteRunJson, suiteRunText } from '../../../src/cli/text/run-suite-text.ts';
import { suiteText } from '../../../src/cli/text/show-suite.ts';
import { compareRuns } from '../../../src/verbs/index.ts';
import { showSuite } from '../../../src/verbs/show-suite.ts';
import { temporaryFolder } from '../../support/support.ts';
import { Agent, saying } from './agent.ts';
import { expectValid, ranSuite } from './support.ts';

const plain = (_style: string, text: string): string => text;

/** An answer with an action without risk_tags, and a tool result without latency_ms. */
const careless = saying({
  events: [
    { type: 'tool_call', ts: 1, call_id: 'c1', tool: 'orders.get', args: {} },
    { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', payload_summary: 'an order' },
  ],
  proposed_actions: [
    {
      action_id: 'a1',
      action_type: 'refund',
      tool_name: 'refund',
      params: {},
      risk_level: 'low',
      evidence_refs: [{ kind: 'tool_result', call_id: 'c1' }],
    },
  ],
});

test('a run with repaired replies says so, in its output, in show and in a comparison, and verifies', async () => {
  const cwd = temporaryFolder();
  const before = await ranSuite(['one', 'two'], { cwd, baseUrl: await new Agent().start() });
  expect(suiteRunText(before.result, plain)).not.toContain('repaired');
  const baseUrl = await new Agent({ one: careless, two: careless }).start();
  const { result, folder, bytes, artifact } = await ranSuite(['one', 'two'], { cwd, baseUrl, as: 'new' });
  expect(artifact('one').attempts?.at(-1)?.repairs).toEqual({ R6: 1, R9: 1 });
  expect((JSON.parse(bytes('evaluation.json').toString()) as Evaluation).repairs).toEqual({ R6: 2, R9: 2 });
  const line = '  repaired  R6 × 2, R9 × 2: values that replies lack or name differently; see docs/targets.md\n';
  expect(suiteRunText(result, plain)).toContain(line);
  expect(suiteRunJson(result, undefined)).toMatchObject({ runs: [{ repairs: { R6: 2, R9: 2 } }] });
  await expectValid(folder);
  const [run] = result.runs;
  const shown = run && (await showSuite(run.place, undefined));
  expect(shown && suiteText(shown, plain)).toContain(line);
  const { comparison } = await compareRuns({
    baseline: before.folder,
    candidate: folder,
    formats: [],
    cwd,
  });
  expect(comparison.cases.map(one => [one.baseline.trials[0]?.repairs, one.new.trials[0]?.repairs])).toEqual([
    [undefined, { R6: 1, R9: 1 }],
    [undefined, { R6: 1, R9: 1 }],
  ]);
});

test('the time to first token of a stream is checked against max_ttft_ms and compared', async () => {
  const cwd = temporaryFolder();
  const url = await new Agent({
    undefined: (_seen, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: {"text":"Hello"}\n\ndata: {"text":" there"}\n\n');
    },
  }).start();
  const declaration = {
    schema_version: 'target.v1',
    kind: 'http',
    url,
    request: { path: '/', body: { message: '${input.user}' } },
    stream: { as: 'sse', first_output: '$.data.text' },
    reply: { final_output: { path: '$.frames[*].data.text', join: '' } },
  };
  writeFileSync(path.join(cwd, 'target.json'), JSON.stringify(declaration));
  const expected = { contains: 'Hello there', max_ttft_ms: 600_000 };
  const cases = [{ id: 'one', input: { user: 'Hi' }, expected }];
  const { folder, bytes, artifact } = await ranSuite(cases, { cwd, target: 'target.json' });
  const { folder: candidate } = await ranSuite(cases, { cwd, target: 'target.json', as: 'new' });
  const ttft = artifact('one').attempts?.at(-1)?.ttft_ms;
  expect(ttft).toBeTypeOf('number');
  const { cases: judged } = JSON.parse(bytes('evaluation.json').toString()) as Evaluation;
  expect(judged[0]).toMatchObject({ verdict: 'pass', metrics: { ttft_ms: ttft } });
  expect(judged[0]?.assertions.map(({ name, status }) => `${name} ${status}`)).toEqual([
    'contains pass',
    'max_ttft_ms pass',
  ]);
  await expectValid(folder);
  const { comparison } = await compareRuns({ baseline: folder, candidate, formats: [], cwd });
  expect(comparison.statistics.metrics.map(({ name }) => name)).toEqual(['latency_ms', 'ttft_ms', 'score']);
  expect(comparison.cases[0]?.baseline.trials[0]?.ttft_ms).toBe(ttft);
});
