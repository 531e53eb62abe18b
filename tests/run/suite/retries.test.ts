import { describe, expect, test } from 'vitest';
import { Agent, answersWell, hangs, json, sending } from './agent.ts';
import { expectValid, ranSuite } from './support.ts';

type Behaviour = typeof answersWell;

/** Fails a number of times, then answers. */
const failing =
  (times: number, failure: Behaviour): Behaviour =>
  (seen, response, time) =>
    time <= times ? failure(seen, response, time) : answersWell(seen, response, time);

describe('retries', () => {
  test('follow retryable failures; each attempt is kept with its body and has its own key', async () => {
    const agent = new Agent({
      busy: failing(2, sending('{"busy":true}', {}, 503)),
      wrong: sending('<p>', {}, 200),
      gone: sending('gone', {}, 404),
    });
    const baseUrl = await agent.start();
    const { artifact, folder, bytes } = await ranSuite(['busy', 'wrong', 'gone'], { baseUrl, retries: 2 });
    const outcomes = (id: string) => artifact(id).attempts?.map(({ error_class }) => error_class ?? 'ok');
    expect(outcomes('busy')).toEqual(['http_error', 'http_error', 'ok']);
    expect(outcomes('wrong')).toEqual(['invalid_json']);
    expect(outcomes('gone')).toEqual(['http_error']);
    expect(bytes('assets/busy.2.body').toString()).toBe('{"busy":true}');
    expect(artifact('busy').attempts?.[0]).toMatchObject({
      http_status: 503,
      full_body_saved_to: 'assets/busy.1.body',
    });
    const keys = agent.seen.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toHaveLength(3 + 1 + 1);
    await expectValid(folder);
  });

  test('follow a timeout', async () => {
    const agent = new Agent({ mute: failing(1, hangs) });
    const { artifact } = await ranSuite(['mute'], { baseUrl: await agent.start(), retries: 1, timeoutMs: 5_000 });
    expect(artifact('mute').attempts).toMatchObject([{ error_class: 'timeout' }, { outcome: 'ok' }]);
  });

  test('wait for the time in Retry-After', async () => {
    const moments: number[] = [];
    const agent = new Agent({
      limited: (seen, response, time) => {
        moments.push(performance.now());
        if (time === 1) json(response, {}, 429, { 'retry-after': '1' });
        else answersWell(seen, response, time);
      },
    });
    const { artifact } = await ranSuite(['limited'], { baseUrl: await agent.start(), retries: 1 });
    expect(artifact('limited').status).toBe('ok');
    expect((moments[1] as number) - (moments[0] as number)).toBeGreaterThanOrEqual(990);
  });

  test('end if Retry-After exceeds the limit', async () => {
    const agent = new Agent({
      never: sending('', { 'retry-after': '9999999999' }, 429),
      'next-century': sending('', { 'retry-after': 'Fri, 01 Jan 2100 00:00:00 GMT' }, 503),
      // An unreadable value is ignored, and a date in the past means now.
      sometime: sending('', { 'retry-after': 'sometime' }, 503),
      past: sending('', { 'retry-after': 'Sat, 01 Jan 2000 00:00:00 GMT' }, 503),
    });
    const ids = ['never', 'next-century', 'sometime', 'past'];
    const { artifact } = await ranSuite(ids, { baseUrl: await agent.start(), retries: 2 });
    expect(ids.map(id => artifact(id).attempts?.length)).toEqual([1, 1, 3, 3]);
  });

  test('do not follow a connection reset if they are disabled', async () => {
    const agent = new Agent({ cut: (_seen, response) => response.destroy() });
    const { artifact } = await ranSuite(['cut'], { baseUrl: await agent.start(), retries: 0 });
    expect(agent.times('cut')).toBe(1);
    expect(artifact('cut').runner_failure).toMatchObject({ class: 'network_error', attempt: 1 });
  });
});

describe('a target that stopped answering', () => {
  test('is abandoned after a few tries, and unsent cases say so', async () => {
    const cases = Array.from({ length: 200 }, (_, index) => `case-${index}`);
    const { artifact, run, result, folder } = await ranSuite(cases, {
      baseUrl: 'http://127.0.0.1:9',
      concurrency: 8,
      breakerFailures: 10,
      breakerPausesMs: [1, 1, 1],
    });
    expect(result.runs[0]).toMatchObject({ ok: 0, failed: 200, gaveUp: true, isOpen: false });
    expect(run.selected_case_ids).toHaveLength(200);
    const last = artifact('case-199');
    expect(last).toMatchObject({ status: 'runner_error', attempts: [] });
    expect(last.runner_failure).toMatchObject({ class: 'network_error', attempt: 0, error_name: 'GIVEN_UP' });
    const sent = cases.filter(id => (artifact(id).attempts?.length ?? 0) > 0);
    expect(sent.length).toBeLessThan(30);
    await expectValid(folder);
  });

  test('and recovers gets all remaining cases', async () => {
    const cases = Array.from({ length: 60 }, (_, index) => `case-${index}`);
    const comesBack: Behaviour = (seen, response, times) => {
      // Down for all concurrent attempts and two probes.
      if (agent.seen.length <= 5 + 3 + 2) response.destroy();
      else answersWell(seen, response, times);
    };
    const agent: Agent = new Agent(Object.fromEntries(cases.map(id => [id, comesBack])));
    const { result } = await ranSuite(cases, {
      baseUrl: await agent.start(),
      concurrency: 4,
      breakerFailures: 5,
      breakerPausesMs: [1, 1, 1, 1, 1, 1],
    });
    const [run] = result.runs;
    expect(run?.gaveUp).toBe(false);
    expect(run?.failed).toBeLessThan(15);
    expect((run?.ok ?? 0) + (run?.failed ?? 0)).toBe(60);
  });
});

describe('redirects', () => {
  const bouncing: Behaviour = (seen, response, time) => {
    if (seen.url === '/run-case') response.writeHead(307, { location: '/v2/run-case' }).end();
    else answersWell(seen, response, time);
  };

  test('are refused by default', async () => {
    const agent = new Agent({ moved: bouncing });
    const { artifact } = await ranSuite(['moved'], { baseUrl: await agent.start() });
    expect(artifact('moved').runner_failure).toMatchObject({ class: 'http_error', status: 307 });
    expect(agent.times('moved')).toBe(1);
  });

  test('are followed within the same origin if they are allowed', async () => {
    const agent = new Agent({
      moved: bouncing,
      loop: (_seen, response) => response.writeHead(307, { location: '/run-case' }).end(),
      away: (_seen, response) => response.writeHead(307, { location: 'http://127.0.0.1:9/run-case' }).end(),
      changed: (_seen, response) => response.writeHead(302, { location: '/v2/run-case' }).end(),
    });
    const { artifact } = await ranSuite(['moved', 'loop', 'away', 'changed'], {
      baseUrl: await agent.start(),
      redirects: true,
    });
    expect(artifact('moved').status).toBe('ok');
    expect(agent.times('loop')).toBe(6);
    for (const id of ['loop', 'away', 'changed']) expect(artifact(id).runner_failure?.class, id).toBe('http_error');
    expect(agent.times('away')).toBe(1);
  });
});
