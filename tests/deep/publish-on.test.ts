import { chmodSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Tokens } from '../../src/serve/access/tokens.ts';
import { serverFolder } from '../../src/serve/state/server-folder.ts';
import { checkedVersion } from '../../src/publish/versions.ts';
import { publishScript } from '../../src/verbs/publish/publish.ts';
import { orderingServer } from '../serve/orders/ordering-server.ts';
import { Place } from '../support/runs.ts';
import { temporaryFolder } from '../support/support.ts';

/** A server, a folder to publish elsewhere, and the command line there. */
async function world() {
  const cwd = temporaryFolder();
  const { origin, token: runner } = await orderingServer(cwd);
  const tokens = new Tokens(serverFolder(path.join(cwd, '.proctor')), systemClock);
  const { text: admin } = await tokens.create({ name: 'admin', role: 'admin' });
  const { text: user } = await tokens.create({ name: 'user', role: 'user' });
  const place = new Place();
  onTestFinished(() => place.remove());
  const version = (number: string): void => {
    const script = {
      schema_version: 'published-script.v1',
      name: 'echo',
      version: number,
      title: 'Echo',
      script: 'run.sh',
    };
    place.file('tool/script.yaml', JSON.stringify(script));
    place.file('tool/run.sh', `#!/bin/sh\n# ${number}\n`);
    place.file('tool/templates/\u00e4 b.html', '<p>');
    chmodSync(path.join(place.cwd, 'tool/run.sh'), 0o755);
  };
  version('1.0.0');
  const publish = (words: readonly string[], token = runner) =>
    place.start(['publish', ...words, '--on', origin], { PROCTOR_TOKEN: token }).ended;
  return { cwd, place, origin, runner, admin, user, publish, version };
}

test('publish --on stores the same version that a folder on the server would have', async () => {
  const { cwd, place, publish } = await world();
  const sent = await publish(['tool', '--json']);
  expect([sent.code, sent.stderr]).toEqual([0, '']);
  const view = JSON.parse(sent.stdout) as { digest: string; state: string; is_new: boolean };
  expect(view).toMatchObject({ name: 'echo', version: '1.0.0', state: 'published', is_new: true, files: 3 });
  const here = await publishScript('tool', { cwd: place.cwd });
  expect(view.digest).toBe(here.digest);
  const published = { name: 'echo', version: '1.0.0', digest: view.digest };
  const stored = checkedVersion(path.join(cwd, '.proctor'), published);
  expect(stored.stored.files.map(({ path: file, mode }) => [file, mode])).toEqual([
    ['run.sh', '755'],
    ['script.yaml', '644'],
    ['templates/\u00e4 b.html', '644'],
  ]);
  expect((await publish(['tool'])).stdout).toContain('unchanged, published');
});

test('publish --on refuses with the sentences of a folder on this machine, and with those of roles', async () => {
  const { place, origin, admin, user, publish, version } = await world();
  const refusal = async (words: readonly string[], token?: string) => {
    const { code, stderr } = await publish(words, token);
    return [code, stderr];
  };
  expect(await refusal(['tool'], user)).toEqual([2, expect.stringContaining('This needs the role runner.')]);
  expect(await refusal(['--list'], user)).toEqual([2, expect.stringContaining('This needs the role runner.')]);
  expect((await publish(['tool'])).code).toBe(0);
  place.file('tool/run.sh', 'exit 1\n');
  expect(await refusal(['tool'])).toEqual([2, expect.stringContaining('echo 1.0.0 exists with other content')]);
  expect(await refusal(['--withdraw', 'echo@1.0.0'])).toEqual([2, expect.stringContaining('needs the role admin.')]);
  expect(await refusal(['--withdraw', 'echo'], admin)).toEqual([2, expect.stringContaining('Name the version')]);
  expect(await refusal(['--try', 'echo'])).toEqual([2, expect.stringContaining('only on this machine')]);
  place.file('tool/script.yaml', 'name: 1');
  expect(await refusal(['tool'])).toEqual([2, expect.stringContaining('script.yaml')]);
  version('1.1.0');
  symlinkSync('/etc/passwd', path.join(place.cwd, 'tool/link'));
  expect(await refusal(['tool'])).toEqual([2, expect.stringContaining('link is not a regular file')]);
  const without = await place.start(['publish', 'tool', '--on', origin], { PROCTOR_TOKEN: '' }).ended;
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('PROCTOR_TOKEN')]);
});

test('--on also drafts, lists, withdraws and rolls back', async () => {
  const { admin, publish, version } = await world();
  expect((await publish(['tool'])).code).toBe(0);
  version('1.1.0');
  expect((await publish(['tool', '--draft'])).stdout).toContain('stored as a draft');
  expect((await publish(['tool'])).code).toBe(0);
  const listed = JSON.parse((await publish(['--list', '--json'])).stdout) as object;
  expect(listed).toMatchObject({ scripts: [{ name: 'echo', current: '1.1.0', previous: '1.0.0' }] });
  expect((await publish(['--rollback', 'echo'], admin)).stdout).toContain('offers 1.0.0');
  expect((await publish(['--withdraw', 'echo@1.0.0'], admin)).stdout).toContain('not offered');
});
