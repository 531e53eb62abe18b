import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { contractPages } from '../scripts/contract-pages.ts';
import { loadContracts } from '../src/contracts/catalogue.ts';
import { proctor, ROOT } from './support.ts';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

test('docs/contracts is what the contracts say (npm run docs writes it)', async () => {
  const pages = contractPages(await loadContracts());
  expect(readdirSync(path.join(ROOT, 'docs', 'contracts')).sort((a, b) => (a < b ? -1 : 1))).toEqual(
    [...pages.keys()].sort((a, b) => (a < b ? -1 : 1)),
  );
  for (const [file, text] of pages) expect(read(`docs/contracts/${file}`), file).toBe(text);
});

describe.each([
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'docs/ci.md',
  'docs/decisions.md',
  'docs/evidence.md',
  'docs/ledger.md',
  'docs/packs.md',
  'docs/scripts.md',
  'docs/sandboxes.md',
  'docs/suites.md',
])('%s', file => {
  const text = read(file);

  test('links only to what is there', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)\)/g)]
      .map(([, link]) => link as string)
      .filter(link => !link.includes('://'));
    expect(links.filter(link => !existsSync(path.join(ROOT, path.dirname(file), link)))).toEqual([]);
  });

  test('names only files of ours that exist', () => {
    const named = [...text.matchAll(/`((?:src|scripts|tests|docs|bench)\/[\w./-]*)`/g)].map(
      ([, name]) => name as string,
    );
    expect(named.filter(name => !existsSync(path.join(ROOT, name)))).toEqual([]);
  });

  test('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...text.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name]) => name as string);
    expect(named.filter(name => !(name in scripts))).toEqual([]);
  });
});

test('the README tells the commands that there are', () => {
  const help = proctor(['--help']).stdout.split('Examples:')[0] ?? '';
  const commands = [...help.matchAll(/^ {2}([a-z-]+) /gm)]
    .map(([, name]) => name as string)
    .filter(name => name !== 'help');
  expect(commands.length).toBeGreaterThan(3);
  for (const command of commands) expect(read('README.md')).toContain(`proctor ${command}`);
});

test('npm start runs a good, a hostile and a hanging script, and shows what was kept and proved', () => {
  const { stdout, stderr, status } = spawnSync('npm', ['start', '--silent'], { cwd: ROOT, encoding: 'utf8' });
  expect(stderr).toMatch(/✓ succeeded {2}report\.py/);
  expect(stderr).toMatch(/✗ failed {2}hostile\.py/);
  expect(stderr).toMatch(/✗ timed out {2}hanging\.sh/);
  expect(stdout).not.toContain('it worked');
  expect(stdout).toMatch(/tried {5}✓ network: A connection/);
  expect(stdout).toMatch(/✓ .*all \d+ valid/);
  expect(status).toBe(0);
});
