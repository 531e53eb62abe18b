import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ACTIVE_FILES } from '../src/policy/active-files.ts';
import { withActsTable } from '../scripts/acts-table.ts';
import { contractPages } from '../scripts/contract-pages.ts';
import { gatePicture } from '../scripts/gate-picture.ts';
import { withLimitsTable } from '../scripts/limits-table.ts';
import { loadContracts } from '../src/contracts/catalogue.ts';
import { builtInProfiles } from '../src/contracts/profile/index.ts';
import { runIntent } from '../src/tool/run-intent.ts';
import { proctor, ROOT } from './support.ts';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

test('docs/contracts is what the contracts say (npm run docs writes it)', async () => {
  const pages = contractPages(await loadContracts());
  expect(readdirSync(path.join(ROOT, 'docs', 'contracts')).sort((a, b) => (a < b ? -1 : 1))).toEqual(
    [...pages.keys()].sort((a, b) => (a < b ? -1 : 1)),
  );
  for (const [file, text] of pages) expect(read(`docs/contracts/${file}`), file).toBe(text);
});

test('the table of limits in docs/sandboxes.md is that of src/policy/limits.ts (npm run docs writes it)', () => {
  expect(withLimitsTable(read('docs/sandboxes.md'))).toBe(read('docs/sandboxes.md'));
});

test('the table of acts in docs/agents.md is what the tests found (npm run docs writes it)', () => {
  expect(withActsTable(read('docs/agents.md'), ROOT)).toBe(read('docs/agents.md'));
});

test('docs/gate.svg shows what bench/results/gate.json measured (npm run docs writes it)', () => {
  expect(gatePicture(ROOT)).toBe(read('docs/gate.svg'));
});

describe.each([
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'docs/agents.md',
  'docs/ci.md',
  'docs/decisions.md',
  'docs/intents.md',
  'docs/evidence.md',
  'docs/ledger.md',
  'docs/packs.md',
  'docs/scripts.md',
  'docs/secrets.md',
  'docs/sandboxes.md',
  'docs/security.md',
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

test('docs/intents.md names the profiles as they are, every error, and every option', async () => {
  const page = read('docs/intents.md');
  for (const { allowed_commands, allowed_write_roots, timeout_ms } of Object.values(builtInProfiles)) {
    expect(page).toContain(allowed_commands.join(', '));
    expect(page).toContain(allowed_write_roots.join(', '));
    expect(page).toContain(`${timeout_ms / 1000} s`);
  }
  for (let code = 1; code <= 7; code++) expect(page).toContain(`| RUN_E00${code} |`);
  const refused: unknown = await runIntent({ intent: 'x', nothing: true } as never).catch((error: unknown) => error);
  const [, options = ''] = /Options: (.*)\./.exec(refused instanceof Error ? refused.message : '') ?? [];
  expect(options).toMatch(/^intent, mode, /);
  for (const option of options.split(', ')) expect(page).toMatch(new RegExp(`[\\s\`]${option}[\`:]`));
});

test('docs/agents.md prints the table of files that run by themselves', () => {
  const rows = ACTIVE_FILES.map(({ paths, runs }) => `| ${paths.map(name => `\`${name}\``).join(' ')} | ${runs} |`);
  const [, table] = /\| files \| why \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(read('docs/agents.md')) ?? [];
  expect(table?.trimEnd().split('\n')).toEqual(rows);
});

test('every promise of docs/security.md names a test that is there', () => {
  const promises = [...read('docs/security.md').matchAll(/^\|.*\]\(\.\.\/(tests\/[\w./-]+)\): "(.*)" \|$/gm)];
  expect(promises.length).toBeGreaterThan(15);
  const missing = promises.filter(([, file = '', title = '']) => title === '' || !read(file).includes(title));
  expect(missing.map(([row]) => row)).toEqual([]);
});
