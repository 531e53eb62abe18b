import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { proctor, ROOT, temporaryFolder } from '../../support/support.ts';
import { orderingServer, type OrderingServer } from '../orders/ordering-server.ts';

const example = (name: string) => ({
  name,
  text: readFileSync(path.join(ROOT, 'examples', 'intent', name), 'utf8'),
});

const post = (server: OrderingServer, at: string, body: unknown, headers: Record<string, string> = {}) =>
  server.json(at, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const json = (folder: string, file: string): Record<string, unknown> =>
  JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Record<string, unknown>;

const folderOf = (cwd: string, id: string): string => path.join(cwd, '.proctor/runs/intent', id);

/** Waits until an order has ended, and returns the folder of its run. */
async function untilEnded(server: OrderingServer, cwd: string, id: string): Promise<string> {
  await expect.poll(() => server.log.join('')).toContain(`"event":"order_ended","run_id":"${id}"`);
  return folderOf(cwd, id);
}

interface Asked {
  readonly id: string;
  readonly key: string;
  readonly expects: { readonly kind: string; readonly choices?: readonly unknown[] };
}

async function questionsOf(server: OrderingServer, id: string): Promise<readonly Asked[]> {
  const { body } = await server.json(`/v1/runs/${id}/questions`);
  return (body as unknown as { readonly questions: readonly Asked[] }).questions;
}

/** Orders an intent whose plan has three open questions. */
async function asking(server: OrderingServer, cwd: string): Promise<string> {
  const { body } = await post(server, '/v1/intents', { intent: example('vague.json') });
  await untilEnded(server, cwd, body.run_id);
  return body.run_id;
}

describe('an ordered intent', () => {
  test('runs in the sandbox, and its evidence verifies', async () => {
    const cwd = temporaryFolder();
    const server = await orderingServer(cwd);
    const order = { intent: example('build-config.json'), mode: 'execute-sandbox', profile: 'strict' };
    const { status, body } = await post(server, '/v1/intents', order, { 'idempotency-key': 'k1' });
    expect([status, body.error]).toEqual([202, undefined]);
    expect((await post(server, '/v1/intents', order, { 'idempotency-key': 'k1' })).body.run_id).toBe(body.run_id);
    const folder = await untilEnded(server, cwd, body.run_id);
    expect(json(folder, 'run.json')).toMatchObject({ kernel_result_kind: 'BUNDLE', decision: { accepted: true } });
    expect(json(folder, 'evidence/request.json')).toMatchObject({ intent: { name: 'build-config.json' } });
    expect(proctor(['verify', folder], { cwd })).toMatchObject({ code: 0 });
    expect((await server.json(`/v1/runs/${body.run_id}`)).body).toMatchObject({ state: 'finished' });
  });

  test('is refused with the sentence of the command line, and leaves nothing', async () => {
    const cwd = temporaryFolder();
    const server = await orderingServer(cwd);
    const refusalOf = async (over: object) => {
      const { status, body } = await post(server, '/v1/intents', { intent: example('vague.json'), ...over });
      return [status, body.error?.message];
    };
    const network = {
      name: 'open',
      allow_network: true,
      timeout_ms: 2_000,
      max_output_files: 1,
      max_total_output_bytes: 2_000,
      allowed_commands: [],
      allowed_write_roots: [],
    };
    expect(await refusalOf({ intent: { name: 'a.json', text: '{' } })).toEqual([422, expect.stringContaining('JSON')]);
    expect(await refusalOf({ intent: { name: '../a.json', text: '{}' } })).toEqual([
      422,
      expect.stringContaining('intent.name must be a file name'),
    ]);
    expect(await refusalOf({ intent: { name: 'a.json', text: '{}' } })).toEqual([422, expect.stringContaining('goal')]);
    expect(await refusalOf({ answers: { name: 'a.json', text: '{"nothing":1}' } })).toEqual([
      422,
      expect.stringContaining('matches no question'),
    ]);
    expect(await refusalOf({ profile: network })).toEqual([422, expect.stringContaining('allows the network')]);
    expect(await refusalOf({ profile: { ...network, name: 'strict', allow_network: false } })).toEqual([
      422,
      expect.stringContaining('The profile breaks a rule'),
    ]);
    expect(await refusalOf({ profile: '/etc/passwd' })).toEqual([422, expect.stringContaining('profile')]);
    expect(await refusalOf({ cwd: '/' })).toEqual([422, expect.stringContaining('unknown key')]);
    expect(readdirSync(path.join(cwd, '.proctor/server/orders'))).toEqual([]);
    expect(existsSync(path.join(cwd, '.proctor/runs/intent'))).toBe(false);
  });

  test('waits with a position, is listed, and can be cancelled before and while it runs', async () => {
    const cwd = temporaryFolder();
    const server = await orderingServer(cwd, { ordering: { intents: 1 } });
    const text = JSON.stringify({ goal: 'Wait', commands: [{ argv: ['node', '-e', 'setTimeout(() => {}, 60000)'] }] });
    const order = async () =>
      (await post(server, '/v1/intents', { intent: { name: 'wait.json', text }, mode: 'execute-sandbox' })).body;
    const first = await order();
    const second = await order();
    expect([first, second]).toMatchObject([{ state: 'running' }, { state: 'waiting', position: 1 }]);
    const row = { run_id: second.run_id, kind: 'intent', state: 'waiting', position: 1, started_at: null };
    expect((await server.json(`/v1/runs/${second.run_id}`)).body).toMatchObject(row);
    const list = (await server.json('/v1/runs?state=waiting')).body as unknown as { runs: unknown[] };
    expect(list.runs).toMatchObject([row]);
    expect((await post(server, `/v1/runs/${second.run_id}/cancel`, {})).body).toMatchObject({ how: 'cancelled' });
    expect((await server.json(`/v1/runs/${second.run_id}`)).body).toMatchObject({ status: 'cancelled' });
    const journal = path.join(folderOf(cwd, first.run_id), 'journal.ndjson');
    await expect.poll(() => existsSync(journal) && readFileSync(journal, 'utf8')).toContain('"started"');
    expect((await post(server, `/v1/runs/${first.run_id}/cancel`, {})).body).toMatchObject({ how: 'cancelled' });
    expect(json(folderOf(cwd, first.run_id), 'evidence/outcome.json')).toMatchObject({ ending: { by: 'cancel' } });
    expect(existsSync(folderOf(cwd, second.run_id))).toBe(false);
  });
});

describe('answers', () => {
  test('make a new run from the evidence, which names the run that it answers', async () => {
    const cwd = temporaryFolder();
    const server = await orderingServer(cwd);
    const asked = await asking(server, cwd);
    const questions = await questionsOf(server, asked);
    expect(questions.map(({ key, expects }) => [key, expects])).toEqual([
      ['version', { kind: 'text' }],
      ['constraints[0] or limits.timeout_ms', { kind: 'choice', choices: ['constraints[0]', 'limits.timeout_ms'] }],
      ['outputs[1].command', { kind: 'command' }],
    ]);
    const [version, which, command] = questions.map(({ id }) => id) as [string, string, string];
    const partly = await post(server, `/v1/runs/${asked}/answers`, { answers: { [version]: '2.4.0' } });
    await untilEnded(server, cwd, partly.body.run_id);
    const open = await questionsOf(server, partly.body.run_id);
    expect(open.map(({ key }) => key)).toEqual(questions.slice(1).map(({ key }) => key));
    const { status, body } = await post(server, `/v1/runs/${partly.body.run_id}/answers`, {
      answers: { [which]: 'constraints[0]', [command]: false },
      mode: 'execute-sandbox',
    });
    expect([status, body.error]).toEqual([202, undefined]);
    const folder = await untilEnded(server, cwd, body.run_id);
    expect(json(folder, 'run.json')).toMatchObject({ kernel_result_kind: 'BUNDLE', decision: { accepted: true } });
    expect(json(folder, 'evidence/request.json')).toMatchObject({
      intent: { name: 'vague.json' },
      answers: { name: `answers-to-${partly.body.run_id}.json` },
      mode: 'execute-sandbox',
    });
    expect(proctor(['verify', folder], { cwd })).toMatchObject({ code: 0 });
  });

  test('must fit the questions that the run asked', async () => {
    const cwd = temporaryFolder();
    const server = await orderingServer(cwd);
    const asked = await asking(server, cwd);
    const [version, which, command] = (await questionsOf(server, asked)).map(({ id }) => id) as [
      string,
      string,
      string,
    ];
    const refused = async (answers: object) => {
      const { status, body } = await post(server, `/v1/runs/${asked}/answers`, { answers });
      const { error } = body as unknown as { error: { code: string; fields?: { field: string; message: string }[] } };
      return [status, error.code, ...(error.fields ?? []).map(({ field, message }) => `${field}: ${message}`)];
    };
    expect(await refused({ [version]: null, [which]: 'network', [command]: 'make', q_0: 1, version: '1' })).toEqual([
      422,
      'bad_answers',
      `${version}: The answer must be a text or a number.`,
      `${which}: The answer must be "constraints[0]" or "limits.timeout_ms".`,
      `${command}: The answer must be a list of words, or false.`,
      'q_0: This run did not ask this question.',
      'version: This run did not ask this question.',
    ]);
    expect(await refused({})).toEqual([422, 'invalid_input']);
    expect(await refused({ [version]: '\ud800' })).toEqual([422, 'intent_syntax']);
    expect(readdirSync(path.join(cwd, '.proctor/runs/intent'))).toEqual([asked]);
  });

  test('work for a run from the terminal, unless its evidence changed or it has no questions', async () => {
    const cwd = temporaryFolder();
    const run = (...more: string[]) =>
      proctor(['run', 'intent', path.join(ROOT, 'examples', 'intent', 'vague.json'), ...more], { cwd });
    expect(run()).toMatchObject({ code: 1 });
    const [id = ''] = readdirSync(path.join(cwd, '.proctor/runs/intent'));
    const server = await orderingServer(cwd);
    const [first] = await questionsOf(server, id);
    const answers = { [first?.id ?? '']: 7 };
    const { status, body } = await post(server, `/v1/runs/${id}/answers`, { answers });
    expect(status).toBe(202);
    const folder = await untilEnded(server, cwd, body.run_id);
    expect(json(folder, 'intent.json')).toMatchObject({ goal: 'Write the release notes for 7' });
    const whyNot = async (at: string) => {
      const { status: code, body: said } = await server.json(`/v1/runs/${at}/questions`);
      return [code, said.error?.message];
    };
    const plan = await post(server, '/v1/intents', { intent: example('build-config.json') });
    await untilEnded(server, cwd, plan.body.run_id);
    expect(await whyNot(plan.body.run_id)).toEqual([409, 'This run asked no questions.']);
    writeFileSync(path.join(folderOf(cwd, id), 'policy.json'), '{}');
    expect(await whyNot(id)).toEqual([409, expect.stringContaining('does not verify')]);
    expect(await post(server, `/v1/runs/${id}/answers`, { answers })).toMatchObject({ status: 409 });
  });
});
