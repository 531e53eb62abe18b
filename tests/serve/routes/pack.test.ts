import { get, type IncomingMessage } from 'node:http';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runScript } from '../../../src/verbs/run-script.ts';
import { PublishWorld } from '../../publish/world.ts';
import { send, world } from '../access/serve-world.ts';

test('one client cannot fill the disk with packs, and each pack leaves nothing behind', async () => {
  const project = new PublishWorld();
  // More than the buffers of a connection hold.
  const script = project.file('large.sh', 'head -c 24000000 /dev/urandom > output/large.bin\n');
  const { runId } = await runScript({ cwd: project.cwd, script });
  const here = await world({ cwd: project.cwd });
  const you = ['Authorization', `Bearer ${here.secret}`] as const;
  const made = await send(here, 'POST', '/v1/tokens', [you], { name: 'other', role: 'viewer' });
  const packed = async (token: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const at = { port: here.port, host: '127.0.0.1', path: `/v1/runs/${runId}/pack`, agent: false, headers };
      const asked = get(at, resolve);
      asked.on('error', reject);
      onTestFinished(() => void asked.on('error', () => undefined).destroy());
    });
  // These clients read nothing of what they get.
  const unread = await Promise.all([1, 2, 3, 4].map(() => packed(here.secret)));
  expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  const refused = await send(here, 'GET', `/v1/runs/${runId}/pack`, [you]);
  expect([refused.status, refused.code, refused.headers['retry-after']]).toEqual([429, 'too_many_packs', '5']);
  const other = await packed(String(made.value['token']));
  expect(other.statusCode).toBe(200);
  for (const one of [...unread, other]) one.destroy();
  const status = async (): Promise<number> => (await send(here, 'GET', `/v1/runs/${runId}/pack`, [you])).status;
  await expect.poll(status, { timeout: 30_000 }).toBe(200);
  expect(readdirSync(path.join(project.home, 'server', 'packs'))).toEqual([]);
});
