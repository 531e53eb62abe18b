import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { stateFolder } from '../../../src/base/state-folder.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { publishScript } from '../../../src/verbs/publish/publish.ts';
import { runPublished } from '../../../src/verbs/publish/run-published.ts';
import { PublishWorld } from '../../publish/world.ts';
import { servedUntilStopped } from '../../support/serve.ts';

afterAll(closeLauncher);

test('a viewer gets no file that the scan withholds, neither alone nor in the pack; an admin gets the pack', async () => {
  const world = new PublishWorld();
  const scan = path.join(stateFolder(), 'scan.json');
  mkdirSync(stateFolder(), { recursive: true, mode: 0o700 });
  writeFileSync(scan, JSON.stringify({ command: ['false', '{file}'] }), { mode: 0o600 });
  onTestFinished(() => rmSync(scan, { force: true }));
  await publishScript('tool', { cwd: world.cwd });
  const { runId } = await runPublished({ name: 'echo', cwd: world.cwd });
  const project = await servedUntilStopped(world.cwd);
  onTestFinished(() => project.stop());
  const order = { role: 'viewer', name: 'someone' };
  const made = await project.json('/v1/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(order),
  });
  const headers = { authorization: `Bearer ${(made.body as { token: string }).token}` };
  const codeAt = async (at: string) => {
    const { status, body } = await project.json(`/v1/runs/${runId}/${at}`, { headers });
    return [status, (body as { error: { code: string } }).error.code];
  };
  expect(await codeAt('files/output%2Finputs.json')).toEqual([403, 'file_withheld']);
  expect(await codeAt('pack')).toEqual([403, 'file_withheld']);
  const pack = await project.ask(`/v1/runs/${runId}/pack`);
  expect(pack.status).toBe(200);
  await pack.arrayBuffer();
  // After a restored backup, the record proves nothing.
  const record = path.join(world.home, 'server', 'script-runs', runId);
  cpSync(record, `${record}.copy`, { recursive: true });
  rmSync(record, { recursive: true });
  renameSync(`${record}.copy`, record);
  expect(await codeAt('files/output%2Finputs.json')).toEqual([403, 'file_withheld']);
  expect(await codeAt('pack')).toEqual([403, 'file_withheld']);
});
