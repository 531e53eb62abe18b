import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { failureMeta } from '../../../src/contracts/artifacts/index.ts';
import { judgedText } from '../../support/support.ts';
import { Agent, answerTo, drips, hangs, json, saying, sending } from './agent.ts';
import { DOCUMENT_FAULTS, REPLY_FAULTS, WIRE_FAULTS } from './faults.ts';
import { everythingIn, expectValid, ranSuite } from './support.ts';

const FAULTS = [
  ...WIRE_FAULTS,
  ...DOCUMENT_FAULTS.map(([what, document, errorClass]) => [what, sending(document), errorClass] as const),
  ...REPLY_FAULTS,
];

describe('an agent', () => {
  const ids = FAULTS.map(([what]) => what.replaceAll(' ', '-'));

  test('that fails in every known way gets an artifact for each case, with the class from the contract', async () => {
    const behaviours = Object.fromEntries(FAULTS.map(([, behaviour], index) => [ids[index] as string, behaviour]));
    const agent = new Agent(behaviours);
    const baseUrl = await agent.start();
    const { folder, artifact, run, bytes, result } = await ranSuite([...ids, 'fine'], {
      baseUrl,
      concurrency: 8,
      breakerFailures: 0,
    });
    const classes = Object.fromEntries(ids.map(id => [id, artifact(id).runner_failure?.class]));
    expect(classes).toEqual(Object.fromEntries(FAULTS.map(([, , errorClass], index) => [ids[index], errorClass])));
    expect(artifact('fine').status).toBe('ok');
    expect(run.stats).toMatchObject({ cases_total: ids.length + 1, cases_completed: 1, cases_failed: ids.length });
    expect(result.runs[0]).toMatchObject({ ok: 1, failed: ids.length, isOpen: false });
    await expectValid(folder);

    for (const id of ids) {
      const failure = artifact(id).runner_failure;
      expect(agent.times(id), id).toBe(1);
      expect(failure?.url, id).toBe(`${baseUrl}/run-case`);
      // A received body is kept with its metadata.
      if (typeof failure?.body_snippet === 'string') {
        expect(failure.full_body_saved_to, id).toBe(`assets/${id}.1.body`);
        const meta = bytes(failure.full_body_meta_saved_to as string);
        expect((await judgedText(failureMeta, meta, { strict: true })).advice, id).toEqual([]);
      } else expect(failure?.full_body_saved_to, id).toBeNull();
    }
    for (const id of ['sends-gzip-without-its-checksum', 'sends-deflate-without-its-checksum']) {
      expect(artifact(id).runner_failure).toMatchObject({
        error_name: 'BROKEN_CONTENT_ENCODING',
        body_snippet: expect.stringMatching(new RegExp(`^{"case_id":"${id}".*}$`)) as string,
      });
    }
    const meta = (id: string) => JSON.parse(bytes(`assets/${id}.1.meta.json`).toString()) as Record<string, unknown>;
    expect(meta('sends-200-MB')).toMatchObject({
      bytes_written: 2_000_000,
      bytes_total: 200_000_000,
      truncated: true,
      class: 'schema_mismatch',
    });
    expect(meta('sends-a-gzip-bomb-of-300-MB')).toMatchObject({ bytes_written: 2_000_000, truncated: true });
    expect(meta('cuts-its-body')).toMatchObject({ bytes_total: 1_000, truncated: true });
    expect(bytes('assets/cuts-its-body.1.body').toString()).toBe('{"case_id": "half');
    expect([...bytes('assets/sends-bytes-that-are-no-UTF-8.1.body')]).toEqual([0x7b, 0xff, 0xfe, 0x7d]);
    expect(artifact('answers-500').runner_failure).toMatchObject({ status: 500, body_snippet: '{"oops":true}' });
  });

  // Separate, because on a busy machine the other behaviours would miss this short deadline.
  test.each([
    ['hangs', hangs],
    ['drips', drips],
  ])('that %s is stopped at the deadline', async (id, behaviour) => {
    const agent = new Agent({ [id]: behaviour });
    const { folder, artifact } = await ranSuite([id], { baseUrl: await agent.start(), timeoutMs: 1_000 });
    expect(artifact(id).runner_failure).toMatchObject({ class: 'timeout', timeout_ms: 1_000, attempt: 1 });
    await expectValid(folder);
  });

  test('that falls silent is stopped before the deadline', async () => {
    const agent = new Agent({
      silent: (_seen, response) => void response.writeHead(200).write('{"case_id":'),
    });
    const baseUrl = await agent.start();
    const { folder, artifact } = await ranSuite(['silent'], { baseUrl, idleMs: 200 });
    expect(artifact('silent').runner_failure).toMatchObject({
      class: 'timeout',
      error_name: 'IDLE',
      error_message: `The agent at ${baseUrl}/run-case sent nothing for 200 ms.`,
    });
    await expectValid(folder);
  });

  test("that forges a failure and Proctor's fields has them stored separately and ignored", async () => {
    const forged = {
      runner_failure: { class: 'other', url: 'x', attempt: 1, full_body_saved_to: '/etc/passwd' },
      status: 'runner_error',
      attempts: [{ attempt: 7 }],
      schema_version: 'case.v9',
      agent_fields: { mine: true },
      token_usage: { cost_usd: 0.5 },
      events: [
        { type: 'tool_call', ts: 1, call_id: 'c1', tool: 'orders', args: {}, mood: 'good' },
        {
          type: 'tool_result',
          ts: 2,
          call_id: 'c1',
          status: 'ok',
          latency_ms: 1,
          payload_asset_href: '../../etc/passwd',
          payload_asset_sha256: 'a'.repeat(64),
        },
      ],
      final_output: { content_type: 'text', content: 'done', output_hash: 'forged', redactions_applied: ['all'] },
    };
    const agent = new Agent({ forger: saying(forged) });
    const { folder, artifact } = await ranSuite(['forger'], { baseUrl: await agent.start() });
    const kept = artifact('forger');
    expect(kept.status).toBe('ok');
    expect(kept.runner_failure).toBeUndefined();
    expect(kept.attempts).toHaveLength(1);
    expect(kept.final_output).toMatchObject({ content: 'done', redactions_applied: [] });
    expect(kept.final_output?.output_hash).toMatch(/^[0-9a-f]{16}$/);
    expect(JSON.stringify(kept.events)).not.toContain('passwd');
    expect(kept.agent_fields).toMatchObject({
      status: 'runner_error',
      schema_version: 'case.v9',
      token_usage: { cost_usd: 0.5 },
      agent_fields: { mine: true },
      'events[0].mood': 'good',
      'events[1].payload_asset_href': '../../etc/passwd',
      'final_output.output_hash': 'forged',
    });
    await expectValid(folder);
  });

  test('that sends keys such as __proto__ has them stored separately and ignored', async () => {
    const agent = new Agent({
      proto: (seen, response) => {
        const text = JSON.stringify(answerTo(seen)).replace(
          '{',
          '{"__proto__":{"status":"runner_error"},"constructor":1,',
        );
        response.end(text.replace('"content_type"', '"__proto__":{"x":1},"content_type"'));
      },
    });
    const { folder, artifact } = await ranSuite(['proto'], { baseUrl: await agent.start() });
    expect(artifact('proto').status).toBe('ok');
    expect(Object.keys(artifact('proto').agent_fields ?? {}).sort()).toEqual([
      '__proto__',
      'constructor',
      'final_output.__proto__',
    ]);
    await expectValid(folder);
  });

  test('that omits actions and events gets an artifact with empty lists', async () => {
    const agent = new Agent({ terse: saying({ proposed_actions: undefined, events: undefined, case_id: undefined }) });
    const { artifact, folder } = await ranSuite(['terse'], { baseUrl: await agent.start() });
    expect(artifact('terse')).toMatchObject({ status: 'ok', proposed_actions: [], events: [] });
    await expectValid(folder);
  });

  test('that sends large payloads and snippets has them stored in separate files, with their hashes', async () => {
    const large = 'payload '.repeat(20_000);
    const events = [
      { type: 'tool_call', ts: 1, call_id: 'c1', tool: 'orders', args: {} },
      { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', latency_ms: 1, payload_summary: { large } },
      { type: 'retrieval', ts: 3, query: 'q', doc_ids: ['d1'], snippets: [large] },
      {
        type: 'tool_result',
        ts: 4,
        call_id: 'c1',
        status: 'ok',
        latency_ms: 1,
        payload: large,
        payload_summary: 'short',
      },
      { type: 'final_output', ts: 5, content_type: 'text', content: 'done' },
    ];
    const agent = new Agent({ large: saying({ events }) });
    const { artifact, folder, bytes } = await ranSuite(['large'], { baseUrl: await agent.start() });
    const kept = artifact('large').events as Record<string, unknown>[];
    expect(kept.map(({ type }) => type)).toEqual(events.map(({ type }) => type));
    expect(kept[1]).toMatchObject({ payload_asset_href: 'assets/large.event-1.payload_summary' });
    expect(JSON.parse(bytes('assets/large.event-1.payload_summary').toString())).toEqual({ large });
    expect(kept[2]).toMatchObject({ snippets_asset_href: 'assets/large.event-2.snippets' });
    expect(kept[3]).toMatchObject({ payload_asset_href: 'assets/large.event-3.payload', payload_summary: 'short' });
    expect(bytes('assets/large.event-3.payload').toString()).toBe(large);
    expect(artifact('large').agent_fields).toBeUndefined();
    await expectValid(folder);
  });

  test('that answers with a body that looks like evidence cannot make the folder invalid', async () => {
    const agent = new Agent({ evil: sending('{"schema_version":"run.v1","run_id":"../x"}', {}, 500) });
    const { folder } = await ranSuite(['evil'], { baseUrl: await agent.start() });
    await expectValid(folder);
  });
});

describe('secrets', () => {
  test('with escapes are found', async () => {
    const token = 'tok_4f9a8b7c6d5e';
    const spelt = [...token].map(letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    const agent = new Agent({
      whole: (seen, response) =>
        response.end(JSON.stringify(answerTo(seen)).replace('You asked', `Key ${spelt}: you asked`)),
      first: (seen, response) =>
        response.end(JSON.stringify(answerTo(seen)).replace('You asked', `Key \\u0074${token.slice(1)} you asked`)),
      fails: (_seen, response) => response.writeHead(500).end(`{"error":"${spelt}"}`),
    });
    const headers = [{ name: 'authorization', env: 'AGENT_TOKEN', value: token }];
    const { folder, artifact } = await ranSuite(['whole', 'first', 'fails'], { baseUrl: await agent.start(), headers });
    const kept = everythingIn(folder);
    expect(kept).not.toContain(token);
    expect(kept).not.toContain(spelt);
    expect(kept).not.toContain(token.slice(1));
    expect(artifact('whole').final_output?.content).toContain('Key [masked]: you asked');
    await expectValid(folder);
  });

  test('in an address, and connection headers, are refused before anything is sent', async () => {
    const headers = [{ name: 'x-key', env: 'KEY', value: 'topsecretvalue' }];
    await expect(ranSuite(['a'], { baseUrl: 'http://127.0.0.1:9/?k=topsecretvalue', headers })).rejects.toThrow(
      /secret/,
    );
    const own = [{ name: 'transfer-encoding', env: 'TE', value: 'chunked' }];
    await expect(ranSuite(['a'], { baseUrl: 'http://127.0.0.1:9', headers: own })).rejects.toThrow(
      /Proctor sets the header transfer-encoding itself/,
    );
    const odd = [{ name: 'x-key', env: 'KEY', value: 'a\r\nb: c' }];
    await expect(ranSuite(['a'], { baseUrl: 'http://127.0.0.1:9', headers: odd })).rejects.toThrow(
      /characters that a header cannot contain/,
    );
  });

  test('that an agent repeats are never stored, in success or failure', async () => {
    const token = 'tok_4f9a8b7c6d5e';
    const agent = new Agent({
      leaks: saying({ final_output: { content_type: 'text', content: `Your token is ${token}, kept well.` } }),
      fails: (_seen, response) => json(response, { error: `bad token ${token}` }, 500, { 'x-echo': token }),
      cut: (_seen, response) => {
        response.writeHead(200, { 'content-length': '500' });
        response.write(`{"x":"${token.slice(0, -2)}`);
        setTimeout(() => response.destroy(), 20);
      },
    });
    const baseUrl = await agent.start();
    const headers = [{ name: 'authorization', env: 'AGENT_TOKEN', value: token }];
    const { folder, artifact } = await ranSuite(['leaks', 'fails', 'cut'], { baseUrl, headers });
    expect(agent.seen[0]?.headers['authorization']).toBe(token);
    expect(everythingIn(folder)).not.toContain(token.slice(0, -2));
    expect(artifact('leaks').final_output).toMatchObject({
      content: 'Your token is [masked], kept well.',
      redactions_applied: ['declared_secret'],
    });
    expect(existsSync(path.join(folder, 'journal.ndjson'))).toBe(false);
    await expectValid(folder);
  });
});
