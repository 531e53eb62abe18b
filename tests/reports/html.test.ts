import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CaseArtifact, caseArtifact } from '../../src/contracts/artifacts/index.ts';
import { check } from '../../src/contracts/check.ts';
import { comparison } from '../../src/contracts/comparison/index.ts';
import { evaluation } from '../../src/contracts/evaluation/index.ts';
import { suiteCase } from '../../src/contracts/suite/index.ts';
import { embedded, htmlText } from '../../src/reports/embed.ts';
import { htmlReport, htmlRunReport } from '../../src/reports/html.ts';
import type { Coverage, PageCase, PageHead, PageRow } from '../../src/reports/page-data.ts';
import type { ReportInput } from '../../src/reports/report-input.ts';
import { ROOT } from '../support/support.ts';
import { reportWorld, runWorld, type World } from './report-world.ts';
import { streamedComparison } from './world.ts';

const pageOf = (input: ReportInput): string => [...htmlReport(input)].join('');

/** The text that a browser finds in a script element. */
function dataIn(page: string, id: string): unknown {
  const start = `<script type="application/json" id="${id}">`;
  const from = page.indexOf(start);
  if (from < 0) return undefined;
  const text = page.slice(from + start.length, page.indexOf('</script', from + start.length));
  return JSON.parse(text);
}

const coverageOf = (page: string): Coverage | undefined => dataIn(page, 'coverage') as Coverage | undefined;
const casesIn = (page: string): number => page.split('id="case-').length - 1;

describe('embedded text', () => {
  const hostile = fc.oneof(
    fc.constantFrom(
      '</script>',
      '<!--',
      '<script>',
      ']]>',
      '\u2028',
      '\u2029',
      '\ud800',
      '\udfff',
      '\u0000',
      '&lt;',
      '\\u003c',
    ),
    fc.string({ unit: 'binary' }),
  );

  test('cannot close its element, and reads back unchanged', () => {
    fc.assert(
      fc.property(
        fc.array(hostile).map(parts => parts.join('')),
        text => {
          const element = embedded('x', { [text]: [text] });
          const inside = element.slice('<script type="application/json" id="x">'.length, -'</script>\n'.length);
          expect(inside).not.toMatch(/[<\u2028\u2029]|\p{Cs}/u);
          expect(JSON.parse(inside)).toEqual({ [text]: [text] });
        },
      ),
    );
  });

  test('contains no tags, quotes or control characters as HTML', () => {
    fc.assert(
      fc.property(
        fc.array(hostile).map(parts => parts.join('')),
        text => {
          expect(htmlText(text)).not.toMatch(/[<>"'\u0000-\u0008\u000b-\u001f]|\p{Cs}/u);
        },
      ),
    );
  });

  test('keeps a hostile answer inside its own element', () => {
    const world = reportWorld({ cases: 3, regressed: 1 });
    const content = '</script><script>alert(1)</script><!-- \u2028';
    const page = pageOf({
      ...world,
      comparison: { ...world.comparison, reason: '</h1><script>alert(2)</script>' },
      pairs: id => {
        const pair = world.pairs(id);
        return { ...pair, new: { ...pair.new, final_output: { content_type: 'text', content } } as CaseArtifact };
      },
    });
    expect(page).not.toContain('alert(1)</script>');
    expect(page).not.toContain('<script>alert');
    expect((dataIn(page, 'case-0') as PageCase | undefined)?.new?.final_output?.content).toBe(content);
  });
});

describe('the test data for reports', () => {
  test.each<World>([
    { cases: 0 },
    { cases: 20, regressed: 4 },
    { cases: 300, regressed: 20, improved: 3, flaky: 4, missing: 5, trials: 3 },
  ])('consists of valid documents: %o', world => {
    const options = { strict: true, internal: false };
    const input = reportWorld(world);
    expect(check(comparison, input.comparison, options).violations).toEqual([]);
    expect(check(evaluation, runWorld(world).evaluation, options).violations).toEqual([]);
    for (const { case_id } of input.comparison.cases) {
      const { baseline, new: fresh, case: asked } = input.pairs(case_id);
      expect(check(suiteCase, asked, options).violations).toEqual([]);
      for (const artifact of [baseline, fresh]) {
        if (artifact) expect(check(caseArtifact, artifact, options).violations).toEqual([]);
      }
    }
  });
});

describe('a report', () => {
  test('is the same for the same documents', () => {
    const world = { cases: 500, regressed: 7, flaky: 2, trials: 3 };
    expect(pageOf(reportWorld(world))).toBe(pageOf(reportWorld(world)));
  });

  test('lists regressions first, then flaky, missing and improved cases, then the rest in order', () => {
    const page = pageOf(reportWorld({ cases: 60, regressed: 2, flaky: 2, missing: 2, improved: 2, trials: 2 }));
    const rows = (dataIn(page, 'rows') as PageRow[] | undefined) ?? [];
    expect(rows.slice(0, 9).map(([, , kind]) => kind)).toEqual([
      'regressed',
      'regressed',
      'flaky',
      'flaky',
      'missing',
      'missing',
      'improved',
      'improved',
      'same',
    ]);
    const calm = rows.slice(8).map(([id]) => Number(id.split('-')[1]));
    expect(calm).toEqual(calm.toSorted((a, b) => a - b));
  });

  test('has a row for every case and full data for changed cases, failed cases and 200 others, and says so', () => {
    const page = pageOf(reportWorld({ cases: 2_000, regressed: 9, improved: 4, missing: 3, flaky: 2, trials: 2 }));
    expect(dataIn(page, 'rows') as PageRow[] | undefined).toHaveLength(2_000);
    expect(casesIn(page)).toBe(218);
    expect(coverageOf(page)).toEqual({ cases: 2_000, rows: 2_000, full: 218, wanted: 218, bytes_max: 25_000_000 });
  });

  test('reads no documents for cases that have only a row', () => {
    const world = reportWorld({ cases: 1_000, regressed: 5 });
    let reads = 0;
    pageOf({
      ...world,
      pairs: id => {
        reads++;
        return world.pairs(id);
      },
    });
    expect(reads).toBe(205);
  });

  test('stays below its size limit by leaving out the least urgent cases, and says how many', () => {
    const bytesMax = 400_000;
    const page = pageOf({ ...reportWorld({ cases: 400, regressed: 150 }), bytesMax });
    const coverage = coverageOf(page);
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(bytesMax);
    expect(coverage).toMatchObject({ cases: 400, rows: 400, wanted: 350 });
    expect(coverage?.full).toBeGreaterThan(20);
    expect(coverage?.full).toBeLessThan(350);
    expect(casesIn(page)).toBe(coverage?.full);
    expect(dataIn(page, 'case-0')).toBeDefined();
  });

  test('leaves out rows if they do not fit, and says so', () => {
    const bytesMax = 250_000;
    const page = pageOf({ ...reportWorld({ cases: 5_000, regressed: 10 }), bytesMax });
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(bytesMax);
    const coverage = coverageOf(page);
    expect(coverage?.rows).toBeLessThan(5_000);
    expect(coverage?.full).toBeGreaterThan(0);
    expect(dataIn(page, 'rows') as PageRow[] | undefined).toHaveLength(coverage?.rows ?? -1);
  });

  test('truncates a case that is too long, and says what was cut', () => {
    const world = reportWorld({ cases: 1, regressed: 1 });
    const long = 'word '.repeat(400_000);
    const pair = world.pairs('refunds-00001');
    const events = Array.from({ length: 1_000 }, (_, index) => ({ type: 'note', ts: index, text: long.slice(0, 900) }));
    const page = pageOf({
      ...world,
      pairs: () => ({
        ...pair,
        new: { ...pair.new, events, final_output: { content_type: 'text', content: long } } as CaseArtifact,
      }),
    });
    expect(Buffer.byteLength(page)).toBeLessThan(600_000);
    const data = dataIn(page, 'case-0') as PageCase | undefined;
    expect(data?.new?.events).toHaveLength(600);
    expect(data?.cuts.join(' ')).toMatch(
      /This page shows 600 of 1000 events of the candidate\..*Long texts in the candidate are truncated/,
    );
    expect(data?.new?.final_output?.content).toMatch(/more characters\]$/);
  });

  test('shows the small files that a case refers to', () => {
    const world = reportWorld({ cases: 1, regressed: 1 });
    const href = 'assets/full_payload.json';
    const pair = world.pairs('refunds-00001');
    const events = [
      { type: 'tool_result', ts: 1, call_id: 'a', status: 'ok', latency_ms: 1, payload_asset_href: href },
    ];
    const page = pageOf({
      ...world,
      pairs: () => ({ ...pair, new: { ...pair.new, events } as CaseArtifact }),
      assetText: (side, asked) => (side === 'new' && asked === href ? '{"total":1}' : undefined),
    });
    expect((dataIn(page, 'case-0') as PageCase | undefined)?.assets).toEqual({
      baseline: {},
      new: { [href]: '{"total":1}' },
    });
  });

  test('counts the repairs of each side, or of the run', () => {
    const page = pageOf({ comparison: streamedComparison(), pairs: () => ({}) });
    const { comparison } = dataIn(page, 'head') as PageHead;
    expect(comparison?.sides).toMatchObject({ baseline: { repairs: null }, new: { repairs: { R6: 4, R10: 2 } } });
    expect(comparison?.metrics.map(({ name }) => name)).toContain('ttft_ms');
    const { trials } = dataIn(page, 'case-0') as PageCase;
    expect(trials.new[0]).toMatchObject({ ttft_ms: 260, repairs: { R6: 2, R10: 1 } });
    const world = runWorld({ cases: 3, regressed: 1 });
    const run = [...htmlRunReport({ ...world, evaluation: { ...world.evaluation, repairs: { R9: 7 } } })].join('');
    expect((dataIn(run, 'head') as PageHead).run?.repairs).toEqual({ R9: 7 });
  });

  test('of a run counts passed, failed and error cases', () => {
    const page = [...htmlRunReport(runWorld({ cases: 50, regressed: 10 }))].join('');
    const head = dataIn(page, 'head') as PageHead | undefined;
    expect(head).toMatchObject({ kind: 'run', tone: 'bad', sentence: '40 passed, 8 failed, 2 errors.' });
    expect(page).toContain('<h1>40 passed, 8 failed, 2 errors.</h1>');
  });

  test('of a baseline run shows that side', () => {
    const world = runWorld({ cases: 3, regressed: 1 });
    const page = [
      ...htmlRunReport({
        ...world,
        run: { ...world.run, version: 'baseline' },
        pairs: id => ({ baseline: world.pairs(id).baseline, case: world.pairs(id).case }),
      }),
    ].join('');
    expect((dataIn(page, 'case-0') as PageCase | undefined)?.new?.version).toBe('baseline');
  });

  test('contains no machine path and loads nothing', () => {
    const page = pageOf(reportWorld({ cases: 100, regressed: 5 }));
    expect(page).not.toContain(ROOT);
    expect(page).not.toMatch(/"\/(?:tmp|home|root|work)\//);
    expect(page.replace(/<script type="application\/json".*?<\/script>/gs, '')).not.toMatch(/(?:src|href)="?https?:/);
  });
});

describe('the code of the page', () => {
  const script = readFileSync(path.join(ROOT, 'dist/page/report.js'), 'utf8');
  const style = readFileSync(path.join(ROOT, 'dist/page/report.css'), 'utf8');

  test('is smaller than 300 kB', () => {
    expect(Buffer.byteLength(script) + Buffer.byteLength(style)).toBeLessThan(300_000);
  });

  test('cannot close its element, and creates no code from text', () => {
    expect(script.match(/<\/script|<!--|\beval\(|new Function/gi)).toBeNull();
    expect(style.match(/<\/style|@import|url\(/gi)).toBeNull();
  });
});
