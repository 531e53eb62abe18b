import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { agentMounts, type MountRequest } from '../../../src/run/agent/mounts.ts';
import type { AgentOrder } from '../../../src/run/agent/order.ts';
import { given, git, put, repository } from '../../execute/worktree/clone-world.ts';
import { temporaryFolder } from '../../support/support.ts';

function orderFor(dir: string, mounts: readonly MountRequest[]): AgentOrder {
  return { agent: 'claude', task: 't', dir, policy: 'edit', environment: {}, cwd: dir, mounts };
}

test('mounts a folder of the work tree at its own path, and any other below /agent/mounts', async () => {
  const folder = repository();
  const elsewhere = path.join(temporaryFolder(), 'deps');
  put(folder, { 'pkg/node_modules/x': '1' });
  put(elsewhere, { y: '2' });
  symlinkSync(elsewhere, path.join(folder, 'linked'));
  const { clone } = await given(folder);
  const requests = [
    { dir: 'pkg/node_modules' },
    { dir: elsewhere },
    { dir: elsewhere, path: 'a #b/[c]' },
    { dir: 'linked' },
  ];
  const { mounts, inTree } = await agentMounts(orderFor(folder, requests), clone);
  expect(mounts.map(({ target }) => target)).toEqual([
    '/work/pkg/node_modules',
    '/agent/mounts/deps',
    '/work/a #b/[c]',
    '/work/linked',
  ]);
  expect(inTree).toEqual(['pkg/node_modules', 'a #b/[c]', 'linked']);
  expect(readFileSync(path.join(clone.tree, '.git/info/exclude'), 'utf8')).toBe(
    '/pkg/node_modules\n/a\\ \\#b/\\[c\\]\n/linked\n',
  );
});

test('refuses folders and paths that it cannot mount safely', async () => {
  const folder = repository();
  symlinkSync('/etc', path.join(folder, 'away'));
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'link');
  const { clone } = await given(folder);
  const good = path.join(temporaryFolder(), 'good');
  put(good, { x: '' });
  const at = (...paths: string[]): MountRequest[] => paths.map(place => ({ dir: good, path: place }));
  const rows: readonly (readonly [MountRequest[], RegExp])[] = [
    [[{ dir: 'none' }], /Cannot mount none: it does not exist/],
    [[{ dir: path.join(good, 'x') }], /Cannot mount x: .*not a folder/],
    [at('src'), /the commit has files there/],
    [at('readme.md'), /has a file or symlink there/],
    [at('away/ssl'), /has a file or symlink there/],
    [at('../out'), /not a path below the folder/],
    [at('a\nb'), /not a path below the folder/],
    [at('.'), /not a path below|Nothing can be mounted/],
    [at('.git/hooks'), /Nothing can be mounted at \.git\/hooks/],
    [at('lib/.GIT'), /Nothing can be mounted/],
    [at('.proctor'), /Nothing can be mounted at \.proctor/],
    [at('/etc'), /not a path below \/agent\/mounts\//],
    [at('/agent/home'), /not a path below \/agent\/mounts\//],
    [at('/agent/mounts/../home'), /not a path below \/agent\/mounts\//],
    [at('/agent/mounts/'), /not a path below \/agent\/mounts\//],
    [at('lib', 'lib/inner'), /must not overlap/],
    [at('lib', 'lib'), /must not overlap/],
    [at(...Array.from({ length: 21 }, (_, index) => `m${index}`)), /at most 20 mounts/],
  ];
  for (const [mounts, words] of rows) {
    const told = await agentMounts(orderFor(folder, mounts), clone).catch((error: Error) => error.message);
    expect(told, JSON.stringify(mounts)).toMatch(words);
  }
});
