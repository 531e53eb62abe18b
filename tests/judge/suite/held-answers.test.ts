import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { type CaseArtifact, caseArtifact } from '../../../src/contracts/artifacts/index.ts';
import type { SuiteCase } from '../../../src/contracts/suite/index.ts';
import { suiteCases } from '../../../src/evidence/suite/suite-folder.ts';
import { HeldAnswers } from '../../../src/judge/suite/held-answers.ts';
import { evaluateSuite } from '../../../src/judge/suite/evaluate.ts';
import { Agent, answerTo, hangs, json, sending } from '../../run/suite/agent.ts';
import { expectValid, ranSuite } from '../../run/suite/support.ts';

const runCheck = () => Promise.reject(new Error('there are no checks'));

test('an evaluation from held answers equals one from the stored answers', async () => {
  const models = Array.from({ length: 12 }, (_, index) => `model-${index}`);
  const agent = new Agent({
    silent: hangs,
    broken: sending('<p>', {}, 200),
    busy: sending('busy', {}, 503),
    calls: (seen, response) =>
      json(
        response,
        answerTo(seen, {
          events: [
            { ts: 1, type: 'tool_call', tool: 'orders.get', call_id: 'c1', args: { z: -0, a: [1e21, 'ü'] } },
            {
              type: 'tool_result',
              ts: 2,
              call_id: 'c1',
              status: 'ok',
              latency_ms: 3,
              payload_summary: 'x'.repeat(9_000),
            },
          ],
        }),
      ),
    ...Object.fromEntries(
      models.map((model, index) => [
        model,
        // The last case is answered first, so that answers arrive in another order than the cases.
        (seen, response) => setTimeout(() => json(response, answerTo(seen, { model })), 60 - 5 * index),
      ]),
    ),
  });
  const expected = { contains: 'asked', regex: 'a.*d', tool_required: 'orders.get', max_latency_ms: 60_000 };
  const ids = ['silent', 'broken', 'busy', 'calls', ...models];
  const cases = ids.map(id => ({ id, input: { user: id }, expected }));
  const options = { baseUrl: await agent.start(), concurrency: 16, timeoutMs: 1_000 };
  const { folder } = await ranSuite([...cases, 'asks-nothing'], options);
  const stored = JSON.parse(readFileSync(path.join(folder, 'evaluation.json'), 'utf8')) as { generated_at: string };
  const again = await evaluateSuite(folder, { runCheck });
  expect(canonicalize({ ...again, generated_at: stored.generated_at })).toBe(canonicalize(stored));
  expect(again.summary).toMatchObject({ total: 17, passed: 2, errors: 3 });
  await expectValid(folder);
  const held = new HeldAnswers();
  for (const asked of suiteCases(folder)) held.take(asked, readFileSync(path.join(folder, `${asked.id}.json`), 'utf8'));
  const read = () => {
    throw new Error('an artifact was read again');
  };
  const unread = await evaluateSuite(folder, { runCheck, held, read });
  expect(unread.cases).toEqual(again.cases);
});

describe('held answers', () => {
  const { runner_failure: _, ...answered } = structuredClone(caseArtifact.example) as CaseArtifact;
  const asking = (id: string): SuiteCase => ({ schema_version: 'suite-case.v1', id, input: { user: 'When?' } });
  const textOf = (content: string): string =>
    canonicalize({ ...answered, final_output: { content_type: 'text', content } });

  test('give their cases in any order, but only if all are held', () => {
    const held = new HeldAnswers();
    for (const id of ['one', 'two']) held.take(asking(id), textOf('At nine.'));
    expect(held.cases(['two', 'one'])?.map(({ id }) => id)).toEqual(['two', 'one']);
    expect(held.cases(['one', 'three'])).toBeUndefined();
    expect(held.has('three')).toBe(false);
  });

  test('do not include an answer of more than 1 MiB, or more than 16 MiB in total', () => {
    const held = new HeldAnswers();
    held.take(asking('large'), textOf('a'.repeat(1024 * 1024)));
    expect(held.has('large')).toBe(false);
    const text = textOf('a'.repeat(1_000_000));
    for (let count = 0; count < 20; count++) held.take(asking(`case-${count}`), text);
    expect(held.has('case-10')).toBe(true);
    expect(held.has('case-19')).toBe(false);
  });

  test('have no artifact for a failure that violates its contract', () => {
    const held = new HeldAnswers();
    const { events: __, proposed_actions: ___, final_output: ____, ...rest } = answered;
    held.take(asking('one'), canonicalize({ ...rest, status: 'runner_error', runner_failure: { class: 'odd' } }));
    expect(held.has('one')).toBe(true);
    expect(held.artifact('one')).toBeUndefined();
  });
});
