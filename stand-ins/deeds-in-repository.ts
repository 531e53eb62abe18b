import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { type Deed, uses } from './scene.ts';

const AUTHOR = ['-c', 'user.name=agent', '-c', 'user.email=agent@example.org'];

/** Actions in the repository, which the agent performs and reports. */
export const repository: Readonly<Record<string, Deed>> = {
  write: ({ tongue }, file = 'hello.txt') =>
    uses(tongue, 'write', path.resolve(file), () => {
      mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
      writeFileSync(file, 'hello from the agent\n');
      return `File created: ${file}`;
    }),
  /** Written but not reported. */
  write_secretly: (_scene, file = 'hidden.txt') => {
    mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
    writeFileSync(file, 'nobody knows\n');
  },
  append: (_scene, file = 'README.md') => appendFileSync(file, 'one more line\n'),
  delete: ({ tongue }, file = 'README.md') =>
    uses(tongue, 'command', `rm ${file}`, () => {
      rmSync(file);
      return '';
    }),
  /** A sparse file of this many bytes. */
  big: (_scene, bytes = '200000000') => {
    const fd = openSync('big.bin', 'w');
    ftruncateSync(fd, Number(bytes));
    closeSync(fd);
  },
  many: (_scene, files = '1000') => {
    mkdirSync('many');
    for (let file = 0; file < Number(files); file++) writeFileSync(`many/${file}.txt`, `${file}\n`);
  },
  binary: () => writeFileSync('image.bin', Buffer.from([0, 255, 1, 254, 10, 0])),
  symlink: (_scene, target = '/etc/passwd') => symlinkSync(target, 'link'),
  fifo: () => void execFileSync('mkfifo', ['pipe']),
  odd_name: () => writeFileSync('a "name"\nof two lines.txt', 'odd\n'),
  nested: () => {
    git('init', '-q', 'nested');
    writeFileSync('nested/inner.txt', 'in a nested repository\n');
  },
  commit: ({ tongue }, file = 'committed.txt') =>
    uses(tongue, 'command', 'git commit', () => {
      writeFileSync(file, 'kept by a commit\n');
      git('add', file);
      return git(...AUTHOR, 'commit', '-q', '-m', 'A commit of the agent');
    }),
  /** Moves a branch other than its own. */
  move: ({ tongue }, branch = 'main') =>
    uses(tongue, 'command', `git update-ref refs/heads/${branch}`, () => {
      const tree = git('write-tree').trim();
      const commit = git(...AUTHOR, 'commit-tree', tree, '-m', 'Moved').trim();
      return git('update-ref', `refs/heads/${branch}`, commit);
    }),
  rewrite: ({ tongue }) =>
    uses(tongue, 'command', 'git commit --amend', () =>
      git(...AUTHOR, 'commit', '-q', '--amend', '--allow-empty', '-m', 'History as it should have been'),
    ),
  branch: (_scene, name = 'side') => void git('branch', name),
  tag: (_scene, name = 'v1') => void git('tag', name),
  /** The original repository, if it is reachable. */
  push: ({ tongue }) =>
    uses(tongue, 'command', 'git push --force', () => {
      try {
        return git('push', '--force', 'origin', 'HEAD:refs/heads/pushed');
      } catch {
        return 'the push failed\n';
      }
    }),
  /** Every git hook and filter that Proctor might run leaves this mark. */
  hook: (_scene, mark = '/tmp/hook-was-run') => {
    mkdirSync('.git/hooks', { recursive: true });
    writeFileSync('.git/hooks/pre-commit', `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
  },
  config: (_scene, mark = '/tmp/monitor-was-run') => void git('config', 'core.fsmonitor', `touch ${mark}`),
  attributes: (_scene, mark = '/tmp/filter-was-run') => {
    writeFileSync('.gitattributes', '* filter=evil diff=evil\n');
    void git('config', 'filter.evil.clean', `touch ${mark}`);
    void git('config', 'diff.evil.textconv', `touch ${mark}`);
  },
  ignore: () => {
    writeFileSync('.git/info/exclude', `${readFileSync('.git/info/exclude', 'utf8')}hidden.txt\n`);
    writeFileSync('hidden.txt', 'not in any status\n');
  },
  /** A file with git's assume-unchanged flag. */
  assume: (_scene, file = 'README.md') => {
    void git('update-index', '--assume-unchanged', file);
    writeFileSync(file, 'changed behind the index\n');
  },
  destroy: () => rmSync('.git', { recursive: true, force: true }),
};

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
