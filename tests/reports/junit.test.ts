import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { reports } from '../../src/reports/index.ts';
import { compareSides } from '../../src/judge/compare/compare.ts';
import { gateOf } from '../../src/judge/compare/gate.ts';
import { judgedCase, side } from '../judge/compare/sides.ts';
import { ROOT } from '../support/support.ts';
import { ATTACKS, attacked, judgedRun, mixedComparison, text } from './world.ts';

const PARSER = `
import json, sys, xml.etree.ElementTree as tree
def plain(node):
    return {'tag': node.tag, **node.attrib, 'text': (node.text or '').strip(), 'in': [plain(child) for child in node]}
print(json.dumps([plain(tree.fromstring(document)) for document in json.load(sys.stdin)]))
`;

interface Node {
  readonly tag: string;
  readonly in: readonly Node[];
  readonly [attribute: string]: unknown;
}

/** A case for each row of the table in docs/ci.md. */
const DOCUMENTED: Readonly<Record<string, readonly string[]>> = {
  'regressed, with or without an answer': ['refund-small', 'refund-large'],
  'fails on both sides': ['still-broken'],
  'fails on both sides, and the candidate never answers': ['slow'],
  'missing on one or both sides': ['gone'],
  flaky: ['wobbly'],
  'any other case': ['mended'],
};

const hasPython = spawnSync('python3', ['-c', 'import xml.etree.ElementTree']).status === 0;

/** Parsed by a third-party parser. */
function parsed(documents: readonly string[]): Node[] {
  const input = JSON.stringify(documents);
  return JSON.parse(execFileSync('python3', ['-c', PARSER], { input, encoding: 'utf8', maxBuffer: 1e9 })) as Node[];
}

describe.runIf(hasPython)('JUnit XML, read by an XML parser', () => {
  test('has a testsuite per suite, whose counts add up', () => {
    const [all] = parsed([text(reports.junit.ofComparison(mixedComparison()))]);
    expect(all).toMatchObject({ tag: 'testsuites', tests: '8', failures: '4', errors: '1', skipped: '1' });
    expect(all?.in.map(({ name, tests }) => [name, tests])).toEqual([
      ['proctor verdict', '1'],
      ['refunds', '1'],
      ['proctor', '6'],
    ]);
  });

  test('reports regressed and failing cases as failures, errors as errors, and missing cases as skipped', () => {
    const [all] = parsed([text(reports.junit.ofComparison(mixedComparison()))]);
    const outcomes = all?.in.flatMap(suite =>
      suite.in.map(({ name, in: [first] }) => [name, first?.tag, first?.['type']]),
    );
    expect(outcomes).toEqual([
      ['verdict', 'failure', 'regression'],
      ['refund-small', 'failure', 'regressed'],
      ['refund-large', 'failure', 'regressed'],
      ['still-broken', 'failure', 'failing'],
      ['slow', 'error', 'failing'],
      ['mended', undefined, undefined],
      ['wobbly', 'system-out', undefined],
      ['gone', 'skipped', undefined],
    ]);
  });

  test('treats cases as docs/ci.md says', () => {
    const [, table = ''] =
      /<!-- checked by [^\n]*\n((?:\|.*\n)+)/.exec(readFileSync(path.join(ROOT, 'docs', 'ci.md'), 'utf8')) ?? [];
    const rows = table
      .trim()
      .split('\n')
      .slice(2)
      .map(row =>
        row
          .split('|')
          .slice(1, 3)
          .map(cell => cell.trim()),
      );
    expect(rows.map(([says]) => says)).toEqual(Object.keys(DOCUMENTED));
    const [all] = parsed([text(reports.junit.ofComparison(mixedComparison()))]);
    const cases = all?.in.flatMap(suite => suite.in) ?? [];
    for (const [says = '', test] of rows) {
      for (const id of DOCUMENTED[says] ?? []) {
        const [first] = cases.find(({ name }) => name === id)?.in ?? [];
        const outcome = { undefined: 'passed', 'system-out': 'passed, with a note' }[String(first?.tag)] ?? first?.tag;
        expect(outcome, id).toBe(test);
      }
    }
  });

  test('reports a single run', () => {
    const [all] = parsed([text(reports.junit.ofRun(judgedRun))]);
    expect(all).toMatchObject({ tests: '4', failures: '1', errors: '1', skipped: '1' });
  });

  test('includes the status and time of a failed answer, for a run and a comparison', () => {
    const metrics = { latency_ms: null, attempts: 1, cost_usd: null, tokens: null, steps: 0, score: null };
    const failure = { status: 503, latency_ms: 1_250 };
    const down = judgedCase('down', { verdict: 'error', error_class: 'http_error', metrics, failure });
    const about = { comparisonId: 'c', generatedAt: '2026-01-07T09:31:00.000Z', artifactOf: () => undefined };
    const comparison = compareSides(side('baseline', [down]), side('new', [down]), gateOf({}), about);
    const run = { ...judgedRun, evaluation: { ...judgedRun.evaluation, cases: [down] } };
    for (const all of parsed([text(reports.junit.ofRun(run)), text(reports.junit.ofComparison(comparison))])) {
      const [one] = all.in.at(-1)?.in ?? [];
      expect(one).toMatchObject({ name: 'down', time: '1.250' });
      expect(one?.in[0]).toMatchObject({ tag: 'error', message: 'http_error: The agent answered with status 503.' });
    }
  });

  test('stays valid XML whatever agents answer', () => {
    const documents = ATTACKS.map(attack => text(reports.junit.ofComparison(attacked(attack))));
    for (const all of parsed(documents)) expect(all.in.flatMap(suite => suite.in)).toHaveLength(8);
  });

  test('stays valid XML for any text', () => {
    const texts = fc.sample(fc.string({ unit: 'binary', maxLength: 40 }), { numRuns: 200, seed: 1 });
    const halves = ['\ud800', 'a\udfff', '\udc00\ud800'];
    const documents = [...texts, ...halves].map(words => text(reports.junit.ofComparison(attacked(words))));
    expect(parsed(documents)).toHaveLength(203);
  });
});

test('a hundred thousand cases are written in small pieces', () => {
  const comparison = mixedComparison();
  const [first] = comparison.cases;
  const cases = Array.from({ length: 100_000 }, (_, index) => ({ ...first, case_id: `case-${index}` }));
  let pieces = 0;
  let longest = 0;
  for (const piece of reports.junit.ofComparison({ ...comparison, cases: cases as typeof comparison.cases })) {
    pieces++;
    longest = Math.max(longest, piece.length);
  }
  expect(pieces).toBeGreaterThan(100_000);
  expect(longest).toBeLessThan(10_000);
});
