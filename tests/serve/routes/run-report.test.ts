import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { RunFolder } from '../../../src/evidence/run-folder/runs.ts';
import { RUN_REPORT_ROUTES } from '../../../src/serve/routes/run-report.ts';
import { runSuite } from '../../../src/verbs/index.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { Agent, answersWell } from '../../run/suite/agent.ts';
import { Place } from '../../support/runs.ts';
import { misfits, type ServedProject, servedUntilStopped } from '../../support/serve.ts';
import { suiteFolder, type WorldCase } from '../../support/suite-world.ts';

interface Answer {
  readonly status: number;
  readonly body: {
    readonly head: { readonly word: string; readonly sentence: string; readonly counts: readonly unknown[] };
    readonly rows: readonly { readonly case_id: string; readonly kind: string; readonly why: string | null }[];
    readonly total: number;
    readonly cases: number;
    readonly from: number;
    readonly position: number | null;
    readonly searched: object | null;
    readonly urgent: { readonly total: number };
    readonly row: { readonly kind: string };
    readonly case: Record<string, unknown>;
    readonly error: { readonly code: string; readonly message: string };
  };
}

const CASES: readonly WorldCase[] = Array.from({ length: 250 }, (_, n) => ({
  id: `case-${String(n).padStart(3, '0')}`,
  title: n === 7 ? '<b>Seven</b>' : `Case ${n}`,
  user: n === 42 ? 'Where is my parcel?' : `Question ${n}`,
  expected: { contains: [n % 50 === 0 ? 'missing words' : 'The answer'] },
  artifact:
    n === 3
      ? {
          status: 'runner_error',
          attempts: [
            { attempt: 1, started_at: '2026-01-06T12:00:00.000Z', outcome: 'runner_error', error_class: 'timeout' },
            { attempt: 2, started_at: '2026-01-06T12:00:05.000Z', outcome: 'runner_error', error_class: 'http_error' },
          ],
          runner_failure: {
            class: 'http_error',
            url: 'http://127.0.0.1:8788',
            attempt: 2,
            status: 500,
            error_message: 'The target answered 500.',
            body_snippet: null,
            full_body_saved_to: null,
          },
        }
      : { attempts: [{ attempt: 1, started_at: '2026-01-06T12:00:00.000Z', latency_ms: n, outcome: 'ok' }] },
}));

const place = new Place();
let project: ServedProject;
let folder: string;
beforeAll(async () => {
  mkdirSync(path.join(place.cwd, '.proctor', 'runs'), { recursive: true });
  folder = await suiteFolder(path.join(place.cwd, '.proctor', 'runs'), {
    version: 'new',
    runId: 'suite-one',
    cases: CASES,
  });
  project = await servedUntilStopped(place.cwd);
});
afterAll(async () => {
  await project.stop();
  await closeLauncher();
  place.remove();
});

const ask = (at: string) => project.json(`/v1/runs/${at}`) as Promise<Answer>;

function fits(name: string, body: unknown): void {
  const route = RUN_REPORT_ROUTES.find(one => one.name === name);
  expect(route && misfits(route, body)).toEqual([]);
}

describe('the report on a suite run', () => {
  test('has the verdict and the counts, in the declared shape', async () => {
    const { status, body } = await ask('suite-one/report');
    expect(status).toBe(200);
    fits('runReport', body);
    expect(body.head).toMatchObject({ word: 'Not all passed', sentence: '244 passed, 5 failed, 1 error.' });
    expect(body.urgent.total).toBe(6);
    expect(JSON.stringify(body)).not.toContain(place.cwd);
  });

  test('lists failures first, page by page', async () => {
    const { body } = await ask('suite-one/cases?limit=100');
    fits('runCases', body);
    expect([body.total, body.cases, body.rows.length]).toEqual([250, 250, 100]);
    expect(body.rows.slice(0, 6).map(({ kind }) => kind)).toEqual(['fail', 'fail', 'fail', 'fail', 'fail', 'error']);
    const next = await ask('suite-one/cases?limit=100&from=200');
    expect(next.body.rows).toHaveLength(50);
    expect((await ask('suite-one/cases?from=9999')).body.rows).toEqual([]);
  });

  test('filters, searches and sorts', async () => {
    const failed = await ask('suite-one/cases?verdict=fail');
    expect(failed.body.total).toBe(5);
    const found = await ask('suite-one/cases?q=parcel');
    expect(found.body.rows.map(({ case_id }) => case_id)).toEqual(['case-042']);
    expect(found.body.searched).toMatchObject({ inputs: 250 });
    const slow = await ask('suite-one/cases?sort=slowest&limit=1');
    expect(slow.body.rows[0]?.case_id).toBe('case-249');
    const errors = await ask('suite-one/cases?error=http_error');
    expect(errors.body.rows.map(({ case_id }) => case_id)).toEqual(['case-003']);
  });

  test('finds the part of the list with a case', async () => {
    const { body } = await ask('suite-one/cases?sort=id&limit=50&around=case-123');
    expect([body.from, body.position]).toEqual([100, 123]);
    expect((await ask('suite-one/cases?verdict=fail&around=case-123')).body.position).toBeNull();
  });

  test('has every attempt of a case, its failure and its question', async () => {
    const { body } = await ask('suite-one/cases/case-003');
    fits('runCase', body);
    expect(body.row.kind).toBe('error');
    expect(body.case).toMatchObject({
      input: { user: 'Question 3' },
      new: {
        attempts: [
          { attempt: 1, error_class: 'timeout' },
          { attempt: 2, error_class: 'http_error' },
        ],
        runner_failure: { error_message: 'The target answered 500.' },
      },
    });
    const failed = await ask('suite-one/cases/case-050');
    expect(failed.body.case['assertions']).toMatchObject([{ name: 'contains', status: 'fail' }]);
  });

  test('refuses the report while an answer differs from the seal', async () => {
    const file = path.join(folder, 'case-007.json');
    const whole = readFileSync(file);
    appendFileSync(file, ' ');
    await expect.poll(async () => (await ask('suite-one/report')).body.error?.code ?? 'ok').toBe('no_verdict');
    writeFileSync(file, whole);
    await expect.poll(async () => (await ask('suite-one/report')).status).toBe(200);
  });

  test.each([
    ['suite-one/cases/nothing', 404, 'no_case'],
    ['suite-one/cases/..%2frun', 422, 'invalid_input'],
    ['suite-one/cases/%00', 422, 'invalid_input'],
    ['suite-one/cases/run', 404, 'no_case'],
    ['suite-one/cases?limit=0', 422, 'invalid_input'],
    ['suite-one/cases?from=-1', 422, 'invalid_input'],
    ['suite-one/cases?sort=__proto__', 422, 'invalid_input'],
    ['suite-one/cases?path=x', 422, 'invalid_input'],
    ['none/report', 404, 'no_run'],
  ])('%s is refused', async (at, status, code) => {
    const { body, status: told } = await ask(at);
    expect([told, body.error.code]).toEqual([status, code]);
  });
});

test('a case without expectations is answered, and neither passed nor failed', async () => {
  const agent = new Agent({});
  place.file('plain.json', JSON.stringify([{ id: 'plain', input: { user: 'x' } }]));
  const runId = 'plain';
  await runSuite({ cases: 'plain.json', cwd: place.cwd, baseUrl: await agent.start(), as: 'new', runId });
  const { body } = (await project.json(`/v1/runs/${runId}`)) as { readonly body: object };
  expect(body).toMatchObject({ status: 'answered', verdicts: { passed: 0, failed: 0, total: 1 } });
  expect(body).toMatchObject({ subject: expect.stringContaining('1 of 1 case, 0 passed, 0 failed') });
});

test('a running suite shows finished cases with their answers, and the attempts of the others', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>(resolve => (release = resolve));
  const agent = new Agent({
    second: (seen, response, times) => {
      if (times === 1) response.writeHead(503).end('{}');
      else void released.then(() => answersWell(seen, response, times));
    },
  });
  const cases = ['first', 'second', 'third'].map(id => ({
    id,
    title: id.toUpperCase(),
    input: { user: id },
    expected: { not_contains: ['never'] },
  }));
  place.file('cases.json', JSON.stringify(cases));
  const baseUrl = await agent.start();
  let ended: Promise<unknown> = Promise.resolve();
  const { id } = await new Promise<RunFolder>(resolve => {
    ended = runSuite({ cases: 'cases.json', cwd: place.cwd, baseUrl, as: 'new', concurrency: 1, onFolder: resolve });
  });
  onTestFinished(async () => {
    release();
    await ended;
  });
  await expect
    .poll(async () => (await ask(`${id}/cases/second`)).body.case?.['under_way'], { timeout: 20_000 })
    .toMatchObject({
      attempts: [{ attempt: 1, http_status: 503 }],
      sent: { attempt: 2 },
    });
  const report = await ask(`${id}/report`);
  fits('runReport', report.body);
  expect(report.body.head).toMatchObject({ word: 'Running', sentence: '1 of 3 cases are done.' });
  const list = await ask(`${id}/cases`);
  fits('runCases', list.body);
  expect(list.body.rows.map(({ case_id, kind }) => [case_id, kind])).toEqual([
    ['first', 'pass'],
    ['second', 'running'],
  ]);
  const first = await ask(`${id}/cases/first`);
  fits('runCase', first.body);
  expect(first.body.case).toMatchObject({
    input: { user: 'first' },
    new: { status: 'ok', attempts: [{ attempt: 1 }] },
  });
  release();
  await ended;
  await expect.poll(async () => (await ask(`${id}/report`)).body.head?.word).toBe('All passed');
  expect((await ask(`${id}/cases/second`)).body.case).toMatchObject({ new: { attempts: [{}, { attempt: 2 }] } });
});
