import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './support/support.ts';

/** Every stylesheet of the pages, by its path in `web/`. */
const sheets = new Map(
  readdirSync(path.join(ROOT, 'web'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.css'))
    .map(file => [file, readFileSync(path.join(ROOT, 'web', file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')]),
);

/** The viewer shows the pages of runs, and reports. */
const usableBy = (page: string): readonly string[] => (page === 'live' ? ['shared', 'pages', 'report'] : ['shared']);

test('each page imports only its own stylesheets and shared ones', () => {
  expect(sheets.size).toBeGreaterThan(10);
  for (const [file, text] of sheets) {
    const own = path.dirname(file);
    for (const [, imported = ''] of text.matchAll(/@import "([^"]+)"/g)) {
      const from = path.dirname(path.join(own, imported));
      expect([from, imported], file).toSatisfy(() => usableBy(own).includes(from) || from.startsWith(own));
    }
  }
});

test('each class has one stylesheet as its owner', () => {
  const owners = new Map<string, Set<string>>();
  for (const [file, text] of sheets)
    for (const name of ownedClasses(text)) owners.set(name, (owners.get(name) ?? new Set()).add(file));
  const shared = [...owners]
    .filter(([, files]) => files.size > 1)
    .map(([name, files]) => `${name}: ${[...files].join(', ')}`);
  expect(owners.size).toBeGreaterThan(200);
  expect(shared).toEqual([]);
});

/** The classes that selectors begin with: `history` in `.history .card`. Rules for one medium do not count. */
function ownedClasses(text: string): string[] {
  const everywhere = text.replaceAll(/@media[^{]*\{(?:[^{}]*\{[^}]*\})*\s*\}/g, '');
  const selectors = [...everywhere.matchAll(/([^{};]+)\{/g)].flatMap(([, selector = '']) => selector.split(','));
  return selectors.flatMap(selector => /^\s*\.([\w-]+)/.exec(selector)?.[1] ?? []);
}
