import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { installationOf, installationsOf, isMachines, isShowable } from '../../../src/execute/host/installation.ts';
import { temporaryFolder } from '../../support/support.ts';

/** A folder with these files, all empty. */
function withFiles(...files: readonly string[]): string {
  const folder = temporaryFolder();
  for (const file of files) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), '');
  }
  return folder;
}

describe('the installation of a program', () => {
  test.each([
    ['nvm', '.nvm/versions/node/v22.1.0', 'node', 'lib/node_modules/npm/package.json'],
    ['Volta', '.volta/tools/image/node/22.1.0', 'node', 'lib/node_modules/npm/package.json'],
    ['setup-node', 'hostedtoolcache/node/22.1.0/x64', 'node', 'include/node/node.h'],
    ['pyenv', '.pyenv/versions/3.12.1', 'python3.12', 'lib/python3.12/os.py'],
    ['a virtual environment', 'project/.venv', 'python', 'pyvenv.cfg'],
  ])('by %s is the folder of that runtime, and nothing above it', (_, folder, name, part) => {
    const root = withFiles(`${folder}/bin/${name}`, `${folder}/${part}`);
    expect(installationOf(path.join(root, folder, 'bin', name))).toBe(path.join(root, folder));
  });

  test('is the program alone if its folder is not the folder of a runtime', () => {
    const root = withFiles('project/bin/tool', 'project/lib/code.rb', 'project/node');
    for (const file of ['project/bin/tool', 'project/node'])
      expect(installationOf(path.join(root, file))).toBe(path.join(root, file));
  });

  test('is the program alone if the folder is a home, ~/.local or a top-level folder', () => {
    const root = withFiles('.local/bin/python3.12', '.local/lib/python3.12/os.py');
    const programs = [
      path.join(root, '.local', 'bin', 'python3.12'),
      path.join(homedir(), 'bin', 'node'),
      path.join(path.dirname(homedir()), 'bin', 'node'),
      '/home/someone/bin/node',
      '/opt/bin/node',
    ];
    for (const program of programs) expect(installationOf(program)).toBe(program);
  });

  test('of a symlink includes the installation that it points to', () => {
    const root = withFiles('py/bin/python3.12', 'py/lib/python3.12/os.py', 'project/.venv/pyvenv.cfg');
    const link = path.join(root, 'project', '.venv', 'bin', 'python');
    mkdirSync(path.dirname(link));
    symlinkSync(path.join(root, 'py', 'bin', 'python3.12'), link);
    expect(installationsOf(link)).toEqual([path.join(root, 'project', '.venv'), path.join(root, 'py')]);
    const system = path.join(root, 'project', '.venv', 'bin', 'sh');
    symlinkSync('/usr/bin/sh', system);
    expect(installationsOf(system)).toEqual([path.join(root, 'project', '.venv')]);
  });
});

test('knows the folders of the machine, and those that the sandbox uses itself', () => {
  const places = ['/usr/bin/node', '/lib64/ld.so', '/opt/node/bin/node', '/home/a/usr/bin/node', '/nix/store/x/bin/y'];
  expect(places.map(isMachines)).toEqual([true, true, false, false, true]);
  const shown = [
    '/work/node',
    '/agent/bin/node',
    '/opt/proctor/node',
    '/opt/proctor-2/node',
    '/workshop/node',
    '/tmp/node',
  ];
  expect(shown.map(isShowable)).toEqual([false, false, false, true, true, true]);
});
