import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/support.ts';

const page = readFileSync(path.join(ROOT, 'docs', 'intents.md'), 'utf8');

/** A block of the page: its language, the last file name before it, and its text. */
const BLOCK = /^```(\w+)\n([\s\S]*?)^```$/gm;
const NAMED = /`([\w./-]+\.(?:json|yaml|mjs))`[^`]*$/;

test('docs/intents.md shows real documents and their results', () => {
  const { folder, sh } = world();
  let commands = 0;
  for (const { index, 1: language, 2: text = '' } of page.matchAll(BLOCK)) {
    if (language === 'console') {
      for (const { command, exit, said } of typed(text)) {
        commands++;
        expect({ command, ...sh(command) }).toEqual({ command, exit, said });
      }
    } else {
      const [, name = ''] = NAMED.exec(page.slice(0, index)) ?? [];
      expect(name, `the block at ${index} has no name`).not.toBe('');
      const file = path.join(folder, name);
      if (existsSync(file)) expect(text).toBe(readFileSync(file, 'utf8'));
      else writeFileSync(file, text);
    }
  }
  expect(commands).toBeGreaterThan(14);
});

/** The command in a block, its exit code, and its output. */
function typed(text: string): { command: string; exit: number; said: string }[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map(part => {
      const [command = '', ...said] = part.split('\n');
      const [, exit = '0'] = /# exit code (\d+)$/.exec(command) ?? [];
      return { command, exit: Number(exit), said: said.join('\n') };
    });
}

/** A folder with the examples, with `proctor` as a command and a package. */
function world() {
  const folder = temporaryFolder();
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(ROOT, path.join(folder, 'node_modules', 'proctor'));
  cpSync(path.join(ROOT, 'examples'), path.join(folder, 'examples'), { recursive: true });
  const program = path.join(bin, 'proctor');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${path.join(ROOT, 'dist', 'proctor.js')}' "$@"\n`);
  chmodSync(program, 0o755);
  const env = { ...process.env, NO_COLOR: '1', PATH: `${bin}:${process.env['PATH']}` };
  const sh = (command: string): { exit: number | null; said: string } => {
    const { status, stdout } = spawnSync('sh', ['-c', `{ ${command}\n} 2>&1`], {
      cwd: folder,
      env,
      encoding: 'utf8',
      timeout: 60_000,
    });
    return { exit: status, said: told(stdout) };
  };
  return { folder, sh };
}

/** Removes details that differ between runs, and notes about other runs. */
function told(text: string): string {
  return text
    .replace(/^waiting: other runs .*\n/gm, '')
    .replace(/intent_\d{8}_\d{6}_[0-9a-f]{12}/g, '<run id>')
    .replace(/^( {2}(?:before|now) +"sha256:)[0-9a-f]{64}"$/gm, '$1…"');
}
