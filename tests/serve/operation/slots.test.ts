import { get, type IncomingMessage } from 'node:http';
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
