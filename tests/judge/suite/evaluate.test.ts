import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { contentHash } from '../../../src/base/hash.ts';
import { readJson } from '../../../src/base/json.ts';
import { caseFailureExample } from '../../../src/contracts/artifacts/index.ts';
import { check } from '../../../src/contracts/check.ts';
import { type Evaluation, evaluation as contract } from '../../../src/contracts/evaluation/index.ts';
import type { Expected } from '../../../src/contracts/suite/index.ts';
import type { Check, CheckAnswer } from '../../../src/judge/suite/check.ts';
import { evaluateSuite, isSealedSo, writeEvaluation } from '../../../src/judge/suite/evaluate.ts';
import { evaluationIn, findEvaluation } from '../../../src/evidence/judgement/evaluation-files.ts';
import { suiteFolder, type WorldCase } from '../../support/suite-world.ts';
import { temporaryFolder } from '../../support/support.ts';

const noCheck = () => Promise.reject(new Error('no case asks for a script'));
const at = (instant: string) => ({ now: () => Date.parse(instant) });
const judging = { runCheck: noCheck, clock: at('2026-01-06T12:01:00.000Z') };

const folderOf = (cases: readonly WorldCase[]): Promise<string> => suiteFolder(temporaryFolder(), { cases });

/** Evaluates a folder with these cases, and checks that the evaluation is valid. */
async function evaluated(cases: readonly WorldCase[], answer?: CheckAnswer): Promise<Evaluation> {
  const folder = await folderOf(cases);
  return sound(await evaluateSuite(folder, answer ? { ...judging, runCheck: () => Promise.resolve(answer) } : judging));
}

function sound(evaluation: Evaluation): Evaluation {
  const { violations, advice } = check(contract, evaluation, { strict: true, internal: false });
  expect([...violations, ...advice]).toEqual([]);
  return evaluation;
}

type Artifact = NonNullable<WorldCase['artifact']>;

const failed = (error_class: 'timeout' | 'http_error' | 'other', attempts: number): Artifact => ({
  status: 'runner_error',
  attempts: Array.from({ length: attempts }, (_, index) => ({
    attempt: index + 1,
    started_at: '2026-01-06T12:00:00.000Z',
    latency_ms: 100 + index,
    outcome: 'runner_error' as const,
    error_class,
  })),
  runner_failure: {
    class: error_class,
    url: 'http://127.0.0.1:8787/run-case',
    attempt: attempts,
    timeout_ms: 100,
    body_snippet: null,
    full_body_saved_to: null,
  },
});

describe('an evaluation of streamed and repaired replies', () => {
  const attempt = { attempt: 1, started_at: '2026-01-06T12:00:00.000Z', latency_ms: 12, outcome: 'ok' } as const;

  test('states the time to first token and the repairs of each answer, and the sum of the repairs', async () => {
    const { cases, repairs } = await evaluated([
      { id: 'a', artifact: { attempts: [{ ...attempt, ttft_ms: 3.5, repairs: { R6: 2 } }] } },
      { id: 'b', artifact: { attempts: [{ ...attempt, repairs: { R6: 1, R10: 1, other: 9 } }] } },
      { id: 'c' },
    ]);
    expect(cases.map(one => [one.metrics.ttft_ms, one.repairs])).toEqual([
      [3.5, { R6: 2 }],
      [undefined, { R6: 1, R10: 1 }],
      [undefined, undefined],
    ]);
    expect(repairs).toEqual({ R6: 3, R10: 1 });
  });

  test('adds no key for other replies, so that older seals still match', async () => {
    const evaluation = await evaluated([{ id: 'a' }, { id: 'b', artifact: failed('timeout', 2) }]);
    expect(JSON.stringify(evaluation)).not.toMatch(/ttft|repairs/);
  });
});

describe('the evaluation of a run', () => {
  test('lists the cases in the order in which they were sent', async () => {
    const { cases, summary, ...rest } = await evaluated([
      { id: 'b-good', expected: { contains: 'answer', max_steps: 0 } },
      { id: 'a-bad', expected: { contains: ['answer', 'refund'], max_cost_usd: 1 } },
      { id: 'free' },
      { id: 'kept', expected: { semantic: {} } },
      { id: 'late', expected: { contains: 'x' }, artifact: failed('timeout', 3) },
      { id: 'odd', expected: { regex: '(' } },
      { id: 'gone', expected: { contains: 'x' }, artifact: null },
    ]);
    expect(
      cases.map(({ case_id, verdict, error_class, metrics }) => [case_id, verdict, error_class, metrics.score]),
    ).toEqual([
      ['b-good', 'pass', null, 1],
      ['a-bad', 'fail', null, 0.5],
      ['free', 'pass', null, null],
      ['kept', 'pass', null, null],
      ['late', 'error', 'timeout', null],
      ['odd', 'error', 'other', null],
      ['gone', 'error', 'missing', null],
    ]);
    expect(summary).toEqual({ total: 7, passed: 3, failed: 1, errors: 3, unjudged: 2 });
    expect(rest).toMatchObject({
      version: 'baseline',
      generated_at: '2026-01-06T12:01:00.000Z',
      judge_version: '0.0.0-source',
    });
    expect(cases[4]?.metrics).toEqual({
      latency_ms: null,
      attempts: 3,
      cost_usd: null,
      tokens: null,
      steps: 0,
      score: null,
    });
    expect(cases[4]?.failure).toEqual({ status: null, latency_ms: null });
    expect(cases[0]).not.toHaveProperty('failure');
    const [broken] = cases[5]?.assertions ?? [];
    expect(broken).toMatchObject({ name: 'regex', status: 'not_judged', at: null });
    expect(broken?.message).toContain('pattern is invalid');
  });

  test('records the status and time of a failed answer', async () => {
    const { runner_failure, ...rest } = failed('http_error', 1);
    const failure = { ...runner_failure, status: 503, latency_ms: 1_234.5 } as Artifact['runner_failure'];
    const { cases } = await evaluated([{ id: 'down', artifact: { ...rest, runner_failure: failure } }]);
    expect(cases[0]?.failure).toEqual({ status: 503, latency_ms: 1_234.5 });
    expect(cases[0]?.metrics.latency_ms).toBeNull();
  });

  test('records the measurements and the hash of each case', async () => {
    const { cases } = await evaluated([
      {
        id: 'one',
        artifact: {
          final_output: { content_type: 'text', content: 'x', output_hash: 'abc' },
          events: [{ type: 'tool_call', ts: 1, call_id: 'c', tool: 't', args: {} }],
          agent_fields: { token_usage: { cost_usd: 0.25, input_tokens: 3, output_tokens: 4 } },
        },
      },
      { id: 'two', artifact: { final_output: { content_type: 'text', content: 'x', output_hash: 'h'.repeat(5_000) } } },
    ]);
    expect(cases[0]).toMatchObject({
      metrics: {
        latency_ms: 12,
        attempts: 1,
        cost_usd: 0.25,
        tokens: 7,
        input_tokens: 3,
        output_tokens: 4,
        steps: 1,
        score: null,
      },
      output_hash: 'abc',
      case_sha256: contentHash({ id: 'one', input: { user: 'What about one?' } }),
    });
    expect(cases[1]?.output_hash).toMatch(/^sha256:[a-f0-9]{64}$/);
    expect(cases[1]?.metrics).not.toHaveProperty('input_tokens');
  });

  test('is identical every time and in every folder, except for its timestamp', async () => {
    const folder = await folderOf([{ id: 'one', expected: { contains: 'x', json_schema: { type: 'string' } } }]);
    const copy = path.join(temporaryFolder(), 'elsewhere');
    cpSync(folder, copy, { recursive: true });
    const first = await evaluateSuite(folder, judging);
    expect(canonicalize(await evaluateSuite(copy, judging))).toBe(canonicalize(first));
    const later = await evaluateSuite(folder, { runCheck: noCheck });
    expect(later.generated_at).not.toBe(first.generated_at);
    expect({ ...later, generated_at: first.generated_at }).toEqual(first);
  });

  test('treats an artifact of another case as missing', async () => {
    const folder = await folderOf(['good', 'copied', 'other-side', 'broken', 'linked'].map(id => ({ id })));
    const file = (id: string): string => path.join(folder, `${id}.json`);
    const good = readFileSync(file('good'), 'utf8');
    writeFileSync(file('copied'), good);
    writeFileSync(file('other-side'), good.replace('"good"', '"other-side"').replace('"baseline"', '"new"'));
    writeFileSync(file('broken'), '{"schema_version":"case.v1"');
    rmSync(file('linked'));
    symlinkSync(file('good'), file('linked'));
    const { cases } = sound(await evaluateSuite(folder, judging));
    expect(cases.map(({ case_id, error_class }) => `${case_id} ${error_class}`)).toEqual([
      'good null',
      'copied missing',
      'other-side missing',
      'broken missing',
      'linked missing',
    ]);
  });

  test('requires a seal and the cases that were sent', async () => {
    const folder = await folderOf([{ id: 'one' }]);
    const cases = path.join(folder, 'assets', 'cases.ndjson');
    const sent = readFileSync(cases, 'utf8');
    writeFileSync(cases, sent.replace('What', 'Why'));
    await expect(evaluateSuite(folder, judging)).rejects.toMatchObject({ name: 'Fault', code: 'cases_changed' });
    rmSync(cases);
    await expect(evaluateSuite(folder, judging)).rejects.toMatchObject({ name: 'Fault', code: 'cases_missing' });
    writeFileSync(cases, sent);
    await evaluateSuite(folder, judging);
    rmSync(path.join(folder, 'evidence', 'seal.json'));
    await expect(evaluateSuite(folder, judging)).rejects.toMatchObject({ name: 'Fault', code: 'not_sealed' });
  });

  test('stops when it is cancelled', async () => {
    const folder = await folderOf([{ id: 'one' }]);
    const stopped = evaluateSuite(folder, { ...judging, signal: AbortSignal.abort() });
    await expect(stopped).rejects.toMatchObject({ name: 'Fault', code: 'cancelled' });
  });
});

describe('the check script of a case', () => {
  const SCRIPT = { file: 'assets/check_0123456789abcdef.py', timeout_ms: 2_000 };
  const one = (expected: Expected = {}): WorldCase[] => [{ id: 'one', expected: { ...expected, script: SCRIPT } }];

  test.each([
    [{ ok: true, message: '' }, 'pass', null, 'pass', null],
    [{ ok: false, message: 'The total is wrong.' }, 'fail', null, 'fail', 'The total is wrong.'],
    [{ ok: false, message: ' ' }, 'fail', null, 'fail', 'The check failed.'],
    [{ ok: false, message: 'no /home/ann/x' }, 'fail', null, 'fail', 'The check failed.'],
    [{ trouble: 'The sandbox is missing.' }, 'error', 'other', 'not_judged', 'The sandbox is missing.'],
  ] as const)('that answers %j gives the verdict %s', async (answer, verdict, error_class, status, message) => {
    const { cases } = await evaluated(one({ contains: 'answer' }), answer);
    expect(cases[0]).toMatchObject({
      verdict,
      error_class,
      assertions: [
        { name: 'contains', status: 'pass' },
        { name: 'script', status, message, at: null },
      ],
    });
  });

  test('gets the case and the answer, and does not run for a case without an answer', async () => {
    const asked: Check[] = [];
    const runCheck = (check: Check): Promise<CheckAnswer> => {
      asked.push(check);
      return Promise.resolve({ ok: true, message: '' });
    };
    const late = { id: 'late', expected: { script: SCRIPT }, artifact: failed('other', 1) };
    const folder = await folderOf([...one(), late]);
    await evaluateSuite(folder, { ...judging, runCheck });
    expect(asked).toMatchObject([
      {
        script: path.join(folder, SCRIPT.file),
        timeoutMs: 2_000,
        input: { case: { id: 'one' }, artifact: { case_id: 'one', status: 'ok' } },
      },
    ]);
  });

  test.each(['../x.py', '/bin/sh', 'assets/../x.py', 'assets/a/b.py', 'check.py', 'assets\\x.py'])(
    'at %s is not part of the run and does not start',
    async file => {
      const { cases } = await evaluated([{ id: 'one', expected: { script: { file } } }]);
      expect(cases[0]).toMatchObject({ verdict: 'error', error_class: 'other' });
    },
  );

  test('runs in parallel with a few others, and the cases keep their order', async () => {
    let running = 0;
    let most = 0;
    const runCheck = async ({ input }: Check): Promise<CheckAnswer> => {
      most = Math.max(most, ++running);
      await new Promise(resolve => setTimeout(resolve, input.case.id === 'c0' ? 30 : 1));
      running--;
      return { ok: true, message: '' };
    };
    const folder = await folderOf(
      Array.from({ length: 12 }, (_, index) => ({ id: `c${index}`, expected: { script: SCRIPT } })),
    );
    const { cases } = sound(await evaluateSuite(folder, { ...judging, runCheck }));
    expect(cases.map(({ case_id }) => case_id)).toEqual(Array.from({ length: 12 }, (_, index) => `c${index}`));
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(4);
  });
});

describe('an evaluation in a folder', () => {
  const found = (folder: string) => findEvaluation(folder, contract, undefined);

  test('is found with its seal, and judging again gives the same result except for its timestamp', async () => {
    const folder = await folderOf([{ id: 'one' }]);
    expect(found(folder)).toEqual({ state: 'none' });
    const first = await evaluateSuite(folder, judging);
    writeEvaluation(folder, first, undefined);
    const sealed = found(folder);
    if (sealed.state !== 'sound') throw new Error(`it is ${sealed.state}`);
    expect(evaluationIn(sealed, contract)).toEqual(first);
    const later = await evaluateSuite(folder, { ...judging, clock: at('2026-01-07T12:00:00.000Z') });
    expect(isSealedSo(later, sealed.seal)).toBe(true);
    expect(isSealedSo({ ...later, cases: [] }, sealed.seal)).toBe(false);
    const names = readdirSync(folder).filter(name => name.includes('evaluation'));
    expect(names).toEqual(['evaluation.json', 'evaluation.seal.json']);
  });

  test.each([
    ['belongs to another seal', { seal_sha256: `sha256:${'0'.repeat(64)}` }, 'has the seal of another run'],
    [
      'has wrong totals',
      { summary: { total: 1, passed: 0, failed: 1, errors: 0, unjudged: 0 } },
      'violates its contract',
    ],
  ])('is not trusted if it %s', async (_, change, why) => {
    const folder = await folderOf([{ id: 'one' }]);
    writeEvaluation(folder, { ...(await evaluateSuite(folder, judging)), ...change }, undefined);
    const sealed = found(folder);
    expect(sealed.state === 'sound' ? evaluationIn(sealed, contract) : sealed).toEqual({ state: 'broken', why });
  });

  test('is not trusted if it is unreadable, was changed, or lacks one of its two files', async () => {
    const folder = await folderOf([{ id: 'one' }]);
    const file = path.join(folder, 'evaluation.json');
    const seal = path.join(folder, 'evaluation.seal.json');
    writeEvaluation(folder, await evaluateSuite(folder, judging), undefined);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('"pass"', '"fail"'));
    expect(found(folder)).toEqual({ state: 'broken', why: 'was changed after it was sealed' });
    rmSync(file);
    expect(found(folder)).toEqual({ state: 'broken', why: 'is missing, although its seal exists' });
    writeFileSync(file, text);
    writeFileSync(seal, '{"payload":');
    expect(found(folder)).toMatchObject({ state: 'broken' });
    rmSync(seal);
    expect(found(folder)).toEqual({ state: 'missing', why: 'has no seal' });
  });
});

const word = fc.constantFrom('answer', 'refund', 'ANSWER', 'a b', '(', 'x+', 'a\u0301', '__proto__');
/** Values that survive a round trip through JSON. */
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter(value => readJson(Buffer.from(canonicalize(value)), { bytesMax: 1_000_000 }).ok);
const expected: fc.Arbitrary<Expected> = fc.record(
  {
    contains: fc.array(word, { maxLength: 3 }),
    must_not_include: word,
    equals: fc.oneof(word, fc.dictionary(word, json)),
    regex: fc.array(word, { maxLength: 2 }),
    json_schema: fc.constantFrom({}, { type: 'object' }, { type: 'nope' }, { required: ['toString'] }),
    json_path: fc.constantFrom([], [{ path: '$[*]', exists: true }], [{ path: '$["\\x"]', regex: '(' }]),
    tool_sequence: fc.array(word, { maxLength: 3 }),
    evidence_required_for_actions: fc.boolean(),
    max_latency_ms: fc.nat(20),
    max_cost_usd: fc.nat(2),
    max_steps: fc.nat(2),
    semantic: fc.constant({}),
    script: fc.constant({ file: 'assets/check_0123456789abcdef.py' }),
  },
  { requiredKeys: [] },
);
const artifact: fc.Arbitrary<Artifact | null> = fc.oneof(
  fc.constant(null),
  fc.constantFrom('timeout' as const, 'other' as const).map(error => failed(error, 2)),
  fc.record({
    final_output: fc.oneof(
      fc.record({ content_type: fc.constant('text' as const), content: fc.string({ unit: 'grapheme' }) }),
      fc.record({ content_type: fc.constant('json' as const), content: fc.dictionary(word, json) }),
    ),
    events: fc.array(
      word.map(tool => ({ type: 'tool_call' as const, ts: 1, call_id: 'c', tool, args: {} })),
      { maxLength: 4 },
    ),
    agent_fields: fc.dictionary(fc.constantFrom('usage', 'cost_usd', 'token_usage'), json),
  }),
);

test('every evaluation is valid and adds up', async () => {
  const root = temporaryFolder();
  let count = 0;
  const property = fc.asyncProperty(
    fc.array(fc.record({ expected, artifact }), { maxLength: 6 }),
    fc.constantFrom<CheckAnswer>({ ok: true, message: '' }, { ok: false, message: '\u0000' }, { trouble: '/etc/x' }),
    async (list, answer) => {
      const below = path.join(root, String(count++));
      mkdirSync(below);
      const cases = list.map((one, index) => ({ id: `case-${index}`, ...one }));
      const folder = await suiteFolder(below, { cases });
      const evaluation = sound(await evaluateSuite(folder, { ...judging, runCheck: () => Promise.resolve(answer) }));
      const { total, passed, failed, errors } = evaluation.summary;
      expect([total, passed + failed + errors]).toEqual([list.length, list.length]);
      rmSync(below, { recursive: true, force: true });
    },
  );
  await fc.assert(property, { numRuns: 150 });
});

// Reading every artifact again for each case would take hours.
test('judges ten thousand cases in linear time and bounded memory', async () => {
  const list = Array.from({ length: 10_000 }, (_, index) => ({
    id: `case-${index}`,
    expected: { contains: `case-${index}.`, regex: 'answer to', max_latency_ms: 20 },
  }));
  const folder = await folderOf(list);
  await evaluateSuite(folder, judging);
  const before = process.memoryUsage().heapUsed;
  const { summary, cases } = await evaluateSuite(folder, judging);
  expect(summary).toEqual({ total: 10_000, passed: 10_000, failed: 0, errors: 0, unjudged: 0 });
  expect(cases).toHaveLength(10_000);
  const bytes = process.memoryUsage().heapUsed - before;
  // Verdicts and uncollected garbage: far less than all artifacts at once.
  expect(bytes / 10_000).toBeLessThan(16 * 1024);
});

test('the example of a failure is a case that ended in an error', async () => {
  const { case_id: id, version: _, ...rest } = caseFailureExample;
  const { cases } = await evaluated([{ id, artifact: rest }]);
  expect(cases[0]).toMatchObject({
    verdict: 'error',
    error_class: 'http_error',
    metrics: { latency_ms: null, attempts: 2 },
  });
});
