import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { findAgentProgram } from '../../../src/execute/agents/agent-program.ts';
import { temporaryFolder } from '../../support/support.ts';

const ARCH = process.arch === 'arm64' ? 'aarch64' : 'x86_64';

/** Creates a folder of programs. A text is a script, `native` a binary, and `->` starts the target of a symlink. */
function folderOf(files: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    if (content.startsWith('->')) symlinkSync(content.slice(2), file);
    else if (content === 'native') cpSync('/usr/bin/env', file, { dereference: true });
    else writeFileSync(file, content);
    if (!content.startsWith('->')) chmodSync(file, name.endsWith('.json') || name.endsWith('.txt') ? 0o644 : 0o755);
  }
  return folder;
}

const NODE = { source: process.execPath, target: '/agent/bin/node' };

describe("an agent's program", () => {
  test('is mounted alone if it is a native binary, following symlinks', () => {
    const folder = folderOf({ 'real/claude-1': 'native', 'bin/claude': '->../real/claude-1' });
    const file = path.join(folder, 'real/claude-1');
    expect(findAgentProgram('claude', path.join(folder, 'bin'))).toEqual({
      name: 'claude',
      argv0: '/agent/bin/claude',
      file,
      mounts: [{ source: file, target: '/agent/bin/claude' }],
    });
  });

  test("is mounted alone if it is a plain script, with Proctor's Node if it needs Node", () => {
    const folder = folderOf({ 'a/claude': '#!/usr/bin/env node\n', 'a/codex': '#!/bin/sh\n# node\n' });
    const shown = { source: path.join(folder, 'a/claude'), target: '/agent/bin/claude' };
    expect(findAgentProgram('claude', path.join(folder, 'a'))).toMatchObject({
      argv0: '/agent/bin/claude',
      file: shown.source,
      mounts: [shown, NODE],
    });
    expect(findAgentProgram('codex', path.join(folder, 'a'))?.mounts).toHaveLength(1);
  });

  test('is the first executable of its name in an absolute PATH folder', () => {
    const folder = folderOf({
      'a/claude.txt': '',
      'b/claude': '#!/bin/sh\n',
      'c/claude/file': '',
      'd/claude': '#!/bin/sh\n',
      'e/claude': '#!/bin/sh\n',
    });
    chmodSync(path.join(folder, 'b/claude'), 0o644);
    const places = ['a', 'b', 'c', 'd', 'e'].map(name => path.join(folder, name));
    expect(findAgentProgram('claude', places.join(':'))?.file).toBe(path.join(folder, 'd/claude'));
    expect(findAgentProgram('claude', places.slice(0, 3).join(':'))).toBe(undefined);
    expect(findAgentProgram('claude', '')).toBe(undefined);
    expect(findAgentProgram('claude', path.relative(process.cwd(), path.join(folder, 'd')))).toBe(undefined);
  });

  test('needs no mount if every sandbox shows it, even behind a symlink', () => {
    expect(findAgentProgram('env', '/usr/bin')).toEqual({
      name: 'env',
      argv0: '/usr/bin/env',
      file: '/usr/bin/env',
      mounts: [],
    });
    const folder = folderOf({ 'bin/claude': '->/usr/bin/env' });
    expect(findAgentProgram('claude', path.join(folder, 'bin'))).toMatchObject({ argv0: '/usr/bin/env', mounts: [] });
  });
});

describe("an installed agent's program", () => {
  const scripts = {
    'node_modules/.bin/codex': '->../@openai/codex/bin/codex.js',
    'node_modules/@openai/codex/bin/codex.js': '#!/usr/bin/env node\n',
  };
  const manifest = JSON.stringify({
    optionalDependencies: {
      '@openai/codex-darwin-arm64': '1',
      [`@openai/codex-linux-${process.arch}`]: '1',
      '../../../etc-linux-x64': '1',
    },
  });

  test('is the native binary of its platform package, with its helper files', () => {
    const platform = `node_modules/@openai/codex-linux-${process.arch}`;
    const binary = `vendor/${ARCH}-unknown-linux-musl/bin/codex`;
    const folder = folderOf({
      ...scripts,
      'node_modules/@openai/codex/package.json': manifest,
      [`${platform}/package.json`]: '{}',
      [`${platform}/vendor/riscv-linux/bin/codex`]: 'native',
      [`${platform}/${binary}`]: 'native',
    });
    const found = findAgentProgram('codex', path.join(folder, 'node_modules/.bin'));
    expect(found).toEqual({
      name: 'codex',
      argv0: `/agent/program/${binary}`,
      file: path.join(folder, platform, binary),
      mounts: [{ source: path.join(folder, platform), target: '/agent/program' }],
    });
    // The same if the symlink points to the native binary itself.
    symlinkSync(path.join(folder, platform, binary), path.join(folder, 'codex'));
    expect(findAgentProgram('codex', folder)).toEqual(found);
  });

  test('is the native binary alone if it has no helper files', () => {
    const platform = `node_modules/@anthropic-ai/claude-code-linux-${process.arch}`;
    const folder = folderOf({
      'bin/claude': '->../node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs',
      'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs': '#!/usr/bin/env node\n',
      'node_modules/@anthropic-ai/claude-code/package.json': JSON.stringify({
        optionalDependencies: { [`@anthropic-ai/claude-code-linux-${process.arch}`]: '1' },
      }),
      [`${platform}/package.json`]: '{}',
      [`${platform}/claude`]: 'native',
    });
    const file = path.join(folder, platform, 'claude');
    expect(findAgentProgram('claude', path.join(folder, 'bin'))).toMatchObject({
      argv0: '/agent/bin/claude',
      file,
      mounts: [{ source: file, target: '/agent/bin/claude' }],
    });
  });

  test('includes helper files if it was installed without a package', () => {
    const folder = folderOf({
      'opt/codex/bin/codex': 'native',
      'opt/codex/codex-package.json': '{}',
      'opt/codex/codex-path/rg': 'native',
    });
    expect(findAgentProgram('codex', path.join(folder, 'opt/codex/bin'))).toMatchObject({
      argv0: '/agent/program/bin/codex',
      mounts: [{ source: path.join(folder, 'opt/codex'), target: '/agent/program' }],
    });
  });

  test.each(['{', '{}', 'null', '{"optionalDependencies":7}', manifest])(
    'is the script with all of node_modules if there is no native binary: %s',
    packageJson => {
      const folder = folderOf({ ...scripts, 'node_modules/@openai/codex/package.json': packageJson });
      expect(findAgentProgram('codex', path.join(folder, 'node_modules/.bin'))).toEqual({
        name: 'codex',
        argv0: '/agent/node_modules/@openai/codex/bin/codex.js',
        file: path.join(folder, 'node_modules/@openai/codex/bin/codex.js'),
        mounts: [{ source: path.join(folder, 'node_modules'), target: '/agent/node_modules' }, NODE],
      });
    },
  );

  test('is never a script with the name of the native binary', () => {
    const platform = `node_modules/@openai/codex-linux-${process.arch}`;
    const folder = folderOf({
      ...scripts,
      'node_modules/@openai/codex/package.json': manifest,
      [`${platform}/codex`]: '#!/bin/sh\n',
    });
    const found = findAgentProgram('codex', path.join(folder, 'node_modules/.bin'));
    expect(readFileSync(found?.file ?? '', 'utf8')).toBe('#!/usr/bin/env node\n');
  });
});
