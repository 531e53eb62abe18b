import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ACTIVE_FILES } from '../src/policy/active-files.ts';
import { withActsTable } from '../scripts/acts-table.ts';
import { contractPages } from '../scripts/contract-pages.ts';
import { gatePicture } from '../scripts/gate-picture.ts';
import { withLimitsTable, withScriptLimits } from '../scripts/limits-table.ts';
import { writtenSchemas } from '../scripts/written-schemas.ts';
import { PICTURES } from '../scripts/shots-pictures.ts';
import { loadContracts } from '../src/contracts/catalogue.ts';
import { builtInProfiles } from '../src/contracts/profile/index.ts';
import { applyRun } from '../src/verbs/apply.ts';
import { compareRuns } from '../src/verbs/compare.ts';
import { runAgent } from '../src/verbs/run-agent.ts';
import { runIntent } from '../src/verbs/run-intent.ts';
import { runScript } from '../src/verbs/run-script.ts';
import { runSuite } from '../src/verbs/run-suite.ts';
import { proctor, ROOT } from './support/support.ts';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

test.each([
  ['docs/contracts', contractPages],
  ['schemas', writtenSchemas],
] as const)('%s matches the contracts (run npm run docs)', async (folder, generated) => {
  const files = generated(await loadContracts());
  expect(readdirSync(path.join(ROOT, folder)).sort((a, b) => (a < b ? -1 : 1))).toEqual(
    [...files.keys()].sort((a, b) => (a < b ? -1 : 1)),
  );
  for (const [file, text] of files) expect(read(`${folder}/${file}`), file).toBe(text);
});

test('docs/sandboxes.md has the limits of src/policy/limits.ts (npm run docs writes them)', () => {
  expect(withLimitsTable(read('docs/sandboxes.md'))).toBe(read('docs/sandboxes.md'));
});

test('docs/command-line.md has the limits of src/contracts/script-limits.ts (npm run docs writes them)', () => {
  expect(withScriptLimits(read('docs/command-line.md'))).toBe(read('docs/command-line.md'));
});

test('docs/agents.md has the acts that the tests recorded (npm run docs writes them)', () => {
  expect(withActsTable(read('docs/agents.md'), ROOT)).toBe(read('docs/agents.md'));
});

test('docs/gate.svg shows the measurements of bench/results/gate.json (npm run docs writes it)', () => {
  expect(gatePicture(ROOT)).toBe(read('docs/gate.svg'));
});

const PAGES = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...pagesIn('docs')];

function pagesIn(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder))
    .filter(name => name.endsWith('.md'))
    .map(name => `${folder}/${name}`);
}

/** The anchor that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

describe.each(PAGES)('%s', file => {
  const text = read(file);

  test('links only to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)]
      .map(([, link]) => link as string)
      .filter(link => !link.includes('://'));
    const broken = links.filter(link => {
      const [name = '', anchor] = link.split('#');
      const target = name === '' ? file : path.join(path.dirname(file), name);
      if (!existsSync(path.join(ROOT, target))) return true;
      if (anchor === undefined) return false;
      return ![...read(target).matchAll(/^#+ (.*)$/gm)].some(([, heading]) => anchorOf(heading as string) === anchor);
    });
    expect(broken).toEqual([]);
  });

  test('names only source files that exist', () => {
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

test('ARCHITECTURE.md has fewer than 1,800 words', () => {
  expect(read('ARCHITECTURE.md').trim().split(/\s+/).length).toBeLessThan(1_800);
});

test('the README has at most 950 words', () => {
  expect(read('README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(950);
});

describe('the pictures that npm run shots takes', () => {
  test.each(PICTURES)('$file is a PNG of the required size, and a page shows it', picture => {
    const { file, width, height, scale, bytesMax, shownIn } = picture;
    expect(read(shownIn)).toContain(`](${path.posix.relative(path.posix.dirname(shownIn), file)})`);
    const bytes = readFileSync(path.join(ROOT, file));
    expect(bytes.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1A\n');
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([width * scale, height * scale]);
    expect(bytes.length).toBeLessThan(bytesMax);
  });

  test('are in the package', () => {
    expect((JSON.parse(read('package.json')) as { files: string[] }).files).toContain('docs');
  });
});

test('docs/command-line.md documents every command with every flag', () => {
  const sections = new Map(
    read('docs/command-line.md')
      .split(/^## /m)
      .map(section => [section.split('\n', 1)[0] ?? '', section]),
  );
  const all = commandsBelow([]);
  expect(all.length).toBeGreaterThan(20);
  for (const { name, flags } of all) {
    const [, text] = [...sections].find(([heading]) => heading.split(', ').includes(name)) ?? parentSection(name);
    expect(text, name).toContain(name);
    for (const flag of flags) expect(text, `${name} ${flag}`).toMatch(new RegExp(`[\` ]${flag}[\` ]`));
  }

  function parentSection(name: string): [string, string] {
    const parent = name.split(' ').slice(0, -1).join(' ');
    return [parent, sections.get(parent) ?? ''];
  }
});

/** The commands without subcommands of their own, with the flags that their help lists. */
function commandsBelow(words: readonly string[]): { readonly name: string; readonly flags: readonly string[] }[] {
  const help = proctor([...words, '--help']).stdout;
  const [, list = ''] = /^Commands:\n((?: .*\n)+)/m.exec(help) ?? [];
  const below = [...list.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name as string);
  if (below.length > 0) return below.filter(name => name !== 'help').flatMap(name => commandsBelow([...words, name]));
  const flags = [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag as string);
  return [{ name: ['proctor', ...words].join(' '), flags }];
}

test.each([
  ['runScript', () => runScript({ script: 'x', nothing: true } as never)],
  ['runAgent', () => runAgent({ agent: 'claude', task: 'x', nothing: true } as never)],
  ['runSuite', () => runSuite({ nothing: true } as never)],
  ['compareRuns', () => compareRuns({ nothing: true } as never)],
  ['applyRun', () => applyRun('x', { nothing: true } as never)],
])('docs/library.md names every option of %s', async (name, call) => {
  const page = read('docs/library.md');
  const refused: unknown = await call().catch((error: unknown) => error);
  const [, options = ''] = /Options: (.*)\./.exec(refused instanceof Error ? refused.message : '') ?? [];
  expect(options.split(', ').length, name).toBeGreaterThan(4);
  for (const option of options.split(', ')) expect(page, option).toMatch(new RegExp(`[\\s\`]${option}[\`:,]`));
});

test('docs/intents.md lists the profiles with their values, every error and every option', async () => {
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

test('docs/agents.md lists every file that runs automatically', () => {
  const rows = ACTIVE_FILES.map(({ paths, runs }) => `| ${paths.map(name => `\`${name}\``).join(' ')} | ${runs} |`);
  const [, table] = /\| files \| why \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(read('docs/agents.md')) ?? [];
  expect(table?.trimEnd().split('\n')).toEqual(rows);
});

test('every promise of docs/security.md names an existing test', () => {
  const promises = [...read('docs/security.md').matchAll(/^\|.*\]\(\.\.\/(tests\/[\w./-]+)\): "(.*)" \|$/gm)];
  expect(promises.length).toBeGreaterThan(15);
  const missing = promises.filter(([, file = '', title = '']) => title === '' || !read(file).includes(title));
  expect(missing.map(([row]) => row)).toEqual([]);
});
