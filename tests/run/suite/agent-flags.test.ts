import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { resumeSuite } from '../../../src/verbs/resume-suite.ts';
import { runSuite } from '../../../src/verbs/run-suite.ts';
import { askingText } from '../../../stand-ins/asking.ts';
import { startModelApi } from '../../../stand-ins/model-api.ts';
import { placeAgent } from '../../../stand-ins/place-agent.ts';
import { temporaryFolder } from '../../support/support.ts';
import { asked, environment, placeAgents, requestIn, verdictsIn } from './agent-world.ts';
import { expectValid, ranSuite } from './support.ts';

placeAgents();

describe('agent flags in a suite', () => {
  test('limit every attempt, appear in the evidence, and change the hash of the target', async () => {
    const suite = { agent: 'claude', environment, timeoutMs: 60_000 };
    const flags = { model: 'a-model', maxTurns: 2, maxCostUsd: 0.5 };
    const cases = [asked('told', 'DO=tested'), asked('many', 'DO=lines:20', { termination: 'error' })];
    const ran = await ranSuite(cases, { ...suite, ...flags });
    const { target, target_sha256 } = requestIn(ran);
    expect(target).toMatchObject({ model: 'a-model', max_turns: 2, max_cost_usd: 0.5 });
    const plain = await ranSuite([asked('told', 'DO=tested')], suite);
    expect(requestIn(plain).target).not.toHaveProperty('model');
    expect(requestIn(plain).target_sha256).not.toBe(target_sha256);
    const run = path.join(
      ran.cwd,
      '.proctor',
      'attempts',
      'runs',
      'agent',
      ran.artifact('told').agent_run?.run_id ?? '',
    );
    const metadata = readFileSync(path.join(run, 'evidence/steps/agent/runner_metadata.json'), 'utf8');
    expect(metadata).toContain('a-model');
    expect(metadata).toContain('--max-turns');
    await expectValid(ran.folder);
  });

  test('end an attempt that exceeds its limit on model requests', async () => {
    const api = await startModelApi();
    onTestFinished(() => api.close());
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'prices.yaml'), PRICES);
    const model = { ...environment, ANTHROPIC_BASE_URL: api.url };
    const often = ['DO=say', askingText({ times: 5 })].join(' ');
    const flags = { maxRequests: 2, maxTokens: 1_000_000, maxCostUsd: 9, prices: 'prices.yaml' };
    const cases = [asked('often', often), asked('expected', often, { termination: 'error' })];
    const ran = await ranSuite(cases, { agent: 'claude', environment: model, cwd, timeoutMs: 60_000, ...flags });
    expect(verdictsIn(ran)).toEqual({
      often: 'fail | termination: The agent ended as error (limit_budget), but completed was expected.',
      expected: 'pass',
    });
    expect(api.asked).toHaveLength(4);
    expect(requestIn(ran).target).toMatchObject({
      max_requests: 2,
      max_tokens: 1_000_000,
      max_cost_usd: 9,
      prices_sha256: expect.stringMatching(/^sha256:/),
    });
    await expectValid(ran.folder);
  });

  test.each<[string, object, RegExp]>([
    ['a flag without an agent', { baseUrl: 'http://127.0.0.1:9', maxTurns: 3 }, /--max-turns requires an agent/],
    ['a limit that cannot be enforced', { agent: 'codex', maxCostUsd: 1 }, /cost/],
    ['recordings without a mode', { agent: 'claude', recordings: 'r' }, /--recordings requires --model-mode record/],
    ['a mode without recordings', { agent: 'claude', modelMode: 'replay' }, /requires a recordings folder/],
    [
      'missing recordings',
      { agent: 'claude', modelMode: 'replay', recordings: 'r' },
      /recordings folder does not exist/,
    ],
    ['existing recordings', { agent: 'claude', modelMode: 'record', recordings: '.' }, /is not empty/],
    [
      'a file as the recordings to write',
      { agent: 'claude', modelMode: 'record', recordings: 'cases.json' },
      /recordings path is not a folder/,
    ],
    [
      'a file as the recordings to replay',
      { agent: 'claude', modelMode: 'replay', recordings: 'cases.json' },
      /recordings path is not a folder/,
    ],
    ['an unknown mode', { agent: 'claude', modelMode: 'tape' }, /modelMode must be "live"/],
  ])('are refused before anything is created: %s', async (_, options, message) => {
    const cwd = temporaryFolder();
    await expect(ranSuite(['a'], { environment, cwd, ...options })).rejects.toThrow(message);
    expect(readdirSync(cwd).filter(name => name !== 'cases.json' && name !== '.proctor')).toEqual([]);
  });

  test('allow an untested version', async () => {
    const folder = temporaryFolder();
    const program = placeAgent('claude', folder);
    writeFileSync(program, readFileSync(program, 'utf8').replaceAll('2.1.325', '2.0.1'));
    const old = { ...environment, PATH: `${folder}:${process.env['PATH']}` };
    const suite = { agent: 'claude', environment: old, timeoutMs: 60_000 };
    await expect(ranSuite([asked('a', 'DO=say')], suite)).rejects.toThrow('is version 2.0.1');
    const ran = await ranSuite([asked('a', 'DO=say')], { ...suite, allowUntestedVersion: true });
    expect(requestIn(ran).target).toMatchObject({ version: '2.0.1', allow_untested_version: true });
    expect(ran.artifact('a').status).toBe('ok');
  });
});

describe('suite recordings', () => {
  test('replace the model, each attempt with its own file', async () => {
    const api = await startModelApi();
    onTestFinished(() => api.close());
    const cwd = temporaryFolder();
    const model = { ...environment, ANTHROPIC_BASE_URL: api.url };
    const cases = [asked('first', 'DO=model', { contains: 'Done.' }), asked('second', 'DO=model')];
    const suite = { agent: 'claude', cwd, timeoutMs: 60_000, recordings: 'recorded', repeat: 2 };
    const recorded = await ranSuite(cases, { ...suite, environment: model, modelMode: 'record' });
    expect(readdirSync(path.join(cwd, 'recorded')).sort()).toEqual([
      'first.1.1.json',
      'first.2.1.json',
      'second.1.1.json',
      'second.2.1.json',
    ]);
    expect(requestIn(recorded).target).toMatchObject({ model_mode: 'record' });
    const requests = api.asked.length;
    await api.close();
    rmSync(path.join(cwd, 'recorded', 'second.1.1.json'));
    const { ANTHROPIC_API_KEY: _, ...keyless } = environment;
    const replayed = await ranSuite(cases, { ...suite, environment: keyless, modelMode: 'replay', as: 'new' });
    expect(requests).toBe(4);
    expect(verdictsIn(replayed)).toEqual({ first: 'pass', second: 'error | other' });
    expect(replayed.artifact('second').runner_failure).toMatchObject({
      class: 'other',
      error_message: 'second.1.1.json does not exist, so there is nothing to replay.',
    });
    expect(replayed.result.runs.map(({ ok, failed }) => [ok, failed])).toEqual([
      [1, 1],
      [2, 0],
    ]);
    await expectValid(replayed.folder);
  });

  test('continue after an interruption, but only with the same flags', async () => {
    const api = await startModelApi();
    onTestFinished(() => api.close());
    const cwd = temporaryFolder();
    const model = { ...environment, ANTHROPIC_BASE_URL: api.url };
    writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify([asked('a', 'DO=model'), asked('b', 'DO=model')]));
    const stop = new AbortController();
    const { runs } = await runSuite({
      cases: 'cases.json',
      as: 'new',
      agent: 'claude',
      environment: model,
      cwd,
      runId: 'stopped',
      concurrency: 1,
      maxTurns: 5,
      modelMode: 'record',
      recordings: 'recorded',
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    expect(runs[0]).toMatchObject({ ok: 1, isOpen: true });
    const going = { cwd, environment: model, variable: () => undefined };
    await expect(resumeSuite('stopped', { ...going, maxTurns: 6 })).rejects.toThrow('keeps its settings');
    const resumed = await resumeSuite('stopped', going);
    expect(resumed.runs[0]).toMatchObject({ ok: 2, failed: 0, isOpen: false });
    expect(resumed.runs[0]).toMatchObject({
      plan: { request: { target: { max_turns: 5, model_mode: 'record' } } },
    });
    expect(readdirSync(path.join(cwd, 'recorded')).sort()).toEqual(['a.1.1.json', 'b.1.1.json']);
  });
});

const PRICES = `models:
  claude-opus-5-5: { input: 5, output: 25 }
  m: { input: 5, output: 25 }
`;
