/** `node scripts/run.mjs bench/compare.ts`: comparing and telling many pairs, beside reading and parsing the same documents. */
import { hash } from 'node:crypto';
import type { Comparison } from '../src/contracts/comparison/index.ts';
import { instantText, monotonicMs } from '../src/base/clock.ts';
import { acceptedFrom, sideFromAccepted } from '../src/judge/baseline.ts';
import { compareSides } from '../src/judge/compare.ts';
import type { JudgedCase, Side } from '../src/judge/compare-input.ts';
import { readGate } from '../src/judge/gate-file.ts';
import { artifactInFolder } from '../src/judge/side.ts';
import { reports } from '../src/reports/index.ts';

const gate = readGate(Buffer.from('schema_version: gate.v1'));

for (const pairs of [10_000, 100_000]) {
  const before = sideOf('baseline', pairs, 0);
  const now = sideOf('new', pairs, 20);
  const text = JSON.stringify([before, now]);
  const parsing = timed(() => JSON.parse(text) as unknown);
  const comparing = timed(() => compare(before, now));
  const comparison = compare(before, now);
  const accepting = timed(() => sideFromAccepted(acceptedFrom(before, instantText(0))));
  const telling = Object.entries(reports).map(([format, { ofComparison }]) => {
    let bytes = 0;
    const ms = timed(() => {
      bytes = 0;
      for (const piece of ofComparison(comparison)) bytes += piece.length;
    });
    return [format, `${ms} ms, ${(bytes / 1e6).toFixed(1)} MB`] as const;
  });
  console.table({
    pairs,
    'parsing both evaluations': `${parsing} ms`,
    comparing: `${comparing} ms`,
    'accepting and reading back': `${accepting} ms`,
    ...Object.fromEntries(telling),
    'resident memory': `${Math.round(process.memoryUsage.rss() / 1e6)} MB`,
  });
}

function compare(before: Side, now: Side): Comparison {
  return compareSides(before, now, gate, {
    comparisonId: 'comparison_bench',
    generatedAt: instantText(0),
    artifactOf: artifactInFolder,
  });
}

function sideOf(runId: string, count: number, failEvery: number): Side {
  const cases = Array.from({ length: count }, (_, index) =>
    caseOf(`case-${index}`, failEvery > 0 && index % failEvery === 0, index * (failEvery + 1)),
  );
  const digest = `sha256:${hash('sha256', runId)}`;
  return {
    source: 'runs',
    trials: [
      {
        runId,
        folder: undefined,
        sealSha256: digest,
        evaluation: { cases },
        environmentHash: undefined,
        targetSha256: digest,
        casesSha256: `sha256:${hash('sha256', 'cases')}`,
        conditions: undefined,
      },
    ],
  };
}

function caseOf(case_id: string, isFailed: boolean, index: number): JudgedCase {
  const message = 'The output does not contain what was asked for.';
  return {
    case_id,
    case_sha256: `sha256:${hash('sha256', case_id)}`,
    verdict: isFailed ? 'fail' : 'pass',
    error_class: null,
    assertions: [
      { name: 'contains', status: isFailed ? 'fail' : 'pass', message: isFailed ? message : null, at: null },
    ],
    metrics: {
      latency_ms: 100 + ((index * (isFailed ? 31 : 17)) % 97),
      attempts: 1,
      cost_usd: 0.001,
      tokens: 200,
      steps: 3,
      score: isFailed ? 0 : 1,
    },
    output_hash: String(index),
  };
}

function timed(work: () => unknown): number {
  const start = monotonicMs();
  work();
  return Math.round(monotonicMs() - start);
}
