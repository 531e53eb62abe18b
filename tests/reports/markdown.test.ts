import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { code, prose } from '../../src/reports/markdown-text.ts';
import { reports } from '../../src/reports/index.ts';
import { ATTACKS, attacked, mixedComparison, text } from './world.ts';

/** Markdown without its code spans. As in CommonMark, a run of as many backticks ends a span. */
function withoutCode(markdown: string): string {
  return markdown
    .split('\n')
    .map(line => line.replace(/(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/g, ''))
    .join('\n');
}

/** The only HTML that Proctor writes itself. */
const OUR_HTML = /<\/?(?:details|summary)>/g;

describe("Markdown keeps the agent's text inert", () => {
  test.each(ATTACKS)('%j', attack => {
    const rest = withoutCode(text(reports.md.ofComparison(attacked(attack)))).replace(OUR_HTML, '');
    expect(rest).not.toMatch(/[<>@`$]|&#|&[a-z]+;|!\[|\]\(|:\/\/|www\.|#\d|GH-\d|[0-9a-f]{40}|:smile:|^# /m);
  });

  test('for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('`', '<', '|', '\\', ' ', 'a', '“', '”', '@', '\n', 'é') }),
        words => {
          for (const told of [code(words), prose(words)]) {
            expect(told).not.toMatch(/\n|\|/);
            expect(withoutCode(told)).not.toMatch(/[<@`\\]/);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('prose', () => {
  const rows: [string, string][] = [
    ['The candidate called “a.b” twice.', 'The candidate called `a.b` twice.'],
    ['1 of 2 cases regressed.', '1 of 2 cases regressed.'],
    ['1 of 2 cases broke: “c-7” (3/3 → 0/3).', '1 of 2 cases broke: `c-7` (3/3 → 0/3).'],
    ['See www.evil.example now', '`See www.evil.example now`'],
    ['by 0123456 and “`”', '`by 0123456 and` `` ` ``'],
    ['', ''],
  ];
  test.each(rows)('%j becomes %j', (given, told) => expect(prose(given)).toBe(told));
});

test('a table stays a table: every row has as many cells as its head', () => {
  for (const attack of ATTACKS) {
    const rows = text(reports.md.ofComparison(attacked(attack)))
      .split('\n')
      .filter(line => line.startsWith('|'));
    for (const row of rows) expect([5, 7]).toContain(row.split('|').length - 1);
  }
});

test('a page is at most 60 kB, closes what it opens, and says what was cut', () => {
  const comparison = mixedComparison();
  const [regressed, , same] = comparison.cases;
  const cases = Array.from({ length: 5_000 }, (_, index) => ({
    ...(index % 2 ? regressed : same),
    case_id: `case-${index}`,
  }));
  const page = text(reports.md.ofComparison({ ...comparison, cases: cases as typeof comparison.cases }));
  expect(Buffer.byteLength(page)).toBeLessThanOrEqual(60_000);
  expect(Buffer.byteLength(page)).toBeGreaterThan(50_000);
  expect(page).toMatch(/Not shown, because a comment is limited to 60 kB: \d+ of 2500 regressions/);
  expect(page.match(/<details>/g)?.length).toBe(page.match(/<\/details>/g)?.length);
});

test('the verdict is the first line', () => {
  expect(text(reports.md.ofComparison(mixedComparison()))).toMatch(/^## ❌ Regression\n/);
});
