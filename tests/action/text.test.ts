import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/support.ts';
import { attacked, ATTACKS, text } from '../reports/world.ts';
import { reports } from '../../src/reports/index.ts';

const { annotationsIn, cut, inert, summaryText } = (await import(path.join(ROOT, 'scripts', 'action-text.mjs'))) as {
  annotationsIn: (folder: string) => string[];
  cut: (text: string, charactersMax: number, mark: string) => string;
  inert: (markdown: string) => string;
  summaryText: (folder: string, exitCode: number) => string;
};

function reportFolder(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  }
  return folder;
}

describe('inert', () => {
  test.each(['word', ...ATTACKS])('leaves a Proctor report with %j unchanged', attack => {
    const report = text(reports.md.ofComparison(attacked(attack)));
    expect(inert(report)).toBe(report);
  });

  test.each([
    ['a mention', '@team/all', '@\u200bteam/all'],
    ['HTML', '<img src=x>', '&lt;img src=x>'],
    ['a comment', '<!-- proctor x run 9 -->', '&lt;!-- proctor x run 9 -->'],
    ['an image', '![x](https://evil.example)', '!\\[x](https:\u200b//evil.example)'],
    ['a reference', 'fixes #12', 'fixes #\u200b12'],
    ['an address', 'www.evil.example', 'www\u200b.evil.example'],
    [
      'a folded list with more in it',
      '<details><summary>@all</summary>',
      '&lt;details>&lt;summary>@\u200ball&lt;/summary>',
    ],
    ['a code span that is not closed', 'a ` @b', 'a \\` @\u200bb'],
    ['a code span that other backticks do not close', '``a` @b', '\\`\\`a\\` @\u200bb'],
    ['an escaped backtick', '\\`@b`', '\\\\`@b`'],
    ['a carriage return', 'a\r@b', 'a\n@\u200bb'],
    ['code that a table splits', '| `a | @b` |', '| `a ¦ @b` |'],
    ['code that is HTML in a folded list', '</details>\n`<b>`', '</details>\n\n`<b>`'],
  ])('defuses %s', (_, hostile, safe) => {
    expect(inert(hostile)).toBe(safe);
  });

  test('keeps code spans and folded lists', () => {
    const report = '## ✅ No regression\n\n<details><summary>Flaky: 2</summary>\n\n- `@all <b>`: ``a`b``\n\n</details>';
    expect(inert(report)).toBe(report);
  });
});

describe('summaryText', () => {
  test('is the report of the only suite', () => {
    expect(summaryText(reportFolder({ 'desk/report.md': '## ✅ Fine\n' }), 0)).toBe('## ✅ Fine\n');
  });

  test('names the suites if there are several', () => {
    const folder = reportFolder({
      'b/report.md': '## B\n',
      'a/report.md': '## A\n',
      'Not a suite/report.md': '## C\n',
    });
    expect(summaryText(folder, 0)).toBe('# ` a `\n\n## A\n\n# ` b `\n\n## B\n');
  });

  test('says that there is no report', () => {
    expect(summaryText(temporaryFolder(), 2)).toMatch(/^## ❌ Proctor could not run\n\nExit code 2, and no report\./);
  });

  test('says why a suite could not run', () => {
    const fault = { name: 'b', error: { code: 'x', message: 'No `key`\n@all' } };
    const files = {
      'test.json': JSON.stringify({ suites: [{ name: 'a', error: null }, fault] }),
      'a/report.md': '## A\n',
    };
    expect(summaryText(reportFolder(files), 2)).toBe(
      '# ` b `\n\n## ❌ Could not run\n\n`` No `key` @all ``\n\n# ` a `\n\n## A\n',
    );
    const whole = {
      'test.json': JSON.stringify({ ok: false, error: { code: 'no_project', message: 'There is none.' } }),
    };
    expect(summaryText(reportFolder(whole), 2)).toBe('## ❌ Could not run\n\n` There is none. `\n');
    for (const text of ['', 'null', '[]', '{"suites":[null]}', '{"suites":7}', '{']) {
      expect(summaryText(reportFolder({ 'test.json': text }), 2)).toMatch(/^## ❌ Proctor could not run/);
    }
  });

  test('follows no link that an agent left', () => {
    const folder = reportFolder({ 'desk/junit.xml': '' });
    writeFileSync(path.join(folder, 'secret'), 'A secret');
    symlinkSync(path.join(folder, 'secret'), path.join(folder, 'desk', 'report.md'));
    symlinkSync(folder, path.join(folder, 'other'));
    expect(summaryText(folder, 1)).not.toContain('A secret');
  });
});

test('the annotations of all suites have at most ten entries per level, and no other output', () => {
  const errors = (suite: string) =>
    Array.from({ length: 8 }, (_, index) => `::error title=${suite}-${index}::x\n`).join('');
  const hostile = '::add-mask::x\n::error::no properties\nwords\n::set-output name=a::b\n';
  const folder = reportFolder({
    'a/annotations.txt': `${errors('a')}${hostile}::notice title=n::a\n`,
    'b/annotations.txt': `${errors('b')}::warning title=w::b\n::notice title=n::b\n`,
  });
  const lines = annotationsIn(folder);
  expect(lines.filter(line => line.startsWith('::error '))).toHaveLength(10);
  expect(lines.slice(10)).toEqual([
    '::warning title=w::b',
    '::notice title=n::a',
    '::notice title=n::b',
    '::notice title=Proctor::6 more annotations are in the reports.',
  ]);
});

test('cut leaves short texts alone, and never cuts inside a line', () => {
  expect(cut('short', 100, 'cut')).toBe('short');
  expect(cut(`${'one line\n'.repeat(20)}`, 60, '*cut*')).toMatch(/^(one line\n)*one line\n\n\*cut\*$/);
  expect(cut('x'.repeat(1_000), 60, '*cut*')).toBe('\n\n*cut*');
});
