import { get, type IncomingMessage, request } from 'node:http';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { viewerSlots } from '../../../src/serve/operation/slots.ts';
import { stagePublished } from '../../../src/verbs/publish/run-published.ts';
import { publishScript } from '../../../src/verbs/publish/publish.ts';
import { PublishWorld } from '../../publish/world.ts';
import { send, world } from '../access/serve-world.ts';

test('slots have a limit in all and per identity, and are free again', () => {
  const slots = viewerSlots(3, 2);
  const free = slots.take('a');
  slots.take('a');
  expect(() => slots.take('a')).toThrow('Too many live views');
  slots.take('b');
  expect(() => slots.take('b')).toThrow('Too many live views');
  free();
  slots.take('c');
  expect(slots.count).toBe(3);
});

test('one user with many open streams takes no live view from others, and leaves nothing behind', async () => {
  const project = new PublishWorld();
  project.file('run.sh', 'sleep 60\n');
  await publishScript('tool', { cwd: project.cwd });
  const { runId } = stagePublished({ name: 'echo', cwd: project.cwd, by: 'you' });
  const here = await world({ cwd: project.cwd });
  const { port, secret } = here;
  const you = ['Authorization', `Bearer ${secret}`] as const;
  const made = await send(here, 'POST', '/v1/tokens', [you], { name: 'b', role: 'viewer' });
  const other = `Bearer ${String(made.value['token'])}`;
  const open = async (authorization: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const asked = get(
        { port, host: '127.0.0.1', path: `/v1/script-runs/${runId}/events`, agent: false, headers: { authorization } },
        resolve,
      );
      asked.on('error', reject);
      onTestFinished(() => void asked.destroy());
    });
  const views = await Promise.all(Array.from({ length: 250 }, () => open(`Bearer ${secret}`)));
  expect(new Set(views.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  const refused = await open(`Bearer ${secret}`);
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '30']);
  expect((await open(other)).statusCode).toBe(200);
  const orders = (await send(here, 'GET', '/metrics', [you])).text;
  expect(orders).toContain('\nproctor_orders{kind="script",state="running"} 1\n');
  for (const view of views) view.destroy();
  const viewers = async (): Promise<string | undefined> =>
    /^proctor_viewers (\d+)$/m.exec((await send(here, 'GET', '/metrics', [you])).text)?.[1];
  await expect.poll(viewers, { timeout: 30_000 }).toBe('1');
  expect((await open(`Bearer ${secret}`)).statusCode).toBe(200);
  await send(here, 'POST', `/v1/script-runs/${runId}/cancel`, [you]);
});

test('one user cannot fill the disk with many large forms at once, and small forms are not counted', async () => {
  const project = new PublishWorld();
  project.file('run.sh', 'true\n');
  await publishScript('tool', { cwd: project.cwd });
  const here = await world({ cwd: project.cwd });
  const { port, secret } = here;
  const authorization = `Bearer ${secret}`;
  const type = 'multipart/form-data; boundary=b';
  /** Sends the beginning of a form, and waits for the answer to the rest. */
  const begin = (length: string | undefined): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization,
        'content-type': type,
        ...(length !== undefined && { 'content-length': length }),
      };
      const path = '/v1/scripts/echo/runs';
      const asked = request({ port, host: '127.0.0.1', path, method: 'POST', agent: false, headers });
      asked.on('response', ({ statusCode = 0 }) => resolve(statusCode));
      asked.on('error', reject);
      asked.write('--b\r\ncontent-disposition: form-data; name="a"; filename="a"\r\n\r\n');
      onTestFinished(() => void asked.on('error', () => undefined).destroy());
    });
  const answers = [...Array<string>(7).fill('200000000'), undefined].map(length => begin(length).catch(() => 0));
  const folders = () => readdirSync(path.join(project.home, 'server', 'uploads')).length;
  await expect.poll(folders, { timeout: 30_000 }).toBe(8);
  expect(await begin('200000000')).toBe(429);
  expect(await begin(undefined)).toBe(429);
  const small = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n';
  const form = await send(
    here,
    'POST',
    '/v1/scripts/echo/runs',
    [
      ['Authorization', authorization],
      ['Content-Type', type],
    ],
    small,
  );
  expect(form.status).toBe(422);
  expect(form.code).toBe('bad_inputs');
  await here.stop();
  expect(await Promise.all(answers)).toEqual(Array(8).fill(0));
});
