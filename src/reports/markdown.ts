import { counted } from '../base/counted.ts';
import { repairedText } from '../contracts/artifacts/repairs.ts';
import { type ComparedCase, type Comparison, isWeakened } from '../contracts/comparison/index.ts';
import { code, prose } from './markdown-text.ts';
import { causeGroups } from './cause-groups.ts';
import { changedCases, changeLines } from './changes.ts';
import { driftGroups } from './drift.ts';
import { explanationOf } from './explanation.ts';
import {
  breachMessages,
  causesNote,
  change,
  concernOf,
  failuresOf,
  measure,
  intervalOf,
  METRICS,
  NO_INTERVAL,
  runNote,
  type Report,
  trialsNote,
  problemsOf,
  unmetMessages,
  SIDE_NAMES,
  verdictWord,
} from './report.ts';
import { repairedSidesText } from './repaired.ts';
import { byFinding, flaggedCases, markedTally, tallyText } from './tally.ts';

/** A comment for a pull request, at most 60 kB: the verdict, a table of regressions, and the rest folded. */
export const markdown: Report = {
  file: 'report.md',
  ofComparison: comparison => [bounded(sections(comparison))],
  ofRun: ({ run, evaluation: { summary, cases, gate, repairs }, repetition, parts }) => {
    const repaired = repairedText(repairs);
    const note = runNote({ repetition, parts });
    const { total, passed, failed, errors, unjudged } = summary;
    const unmet = unmetMessages(gate?.checks);
    const mark = unmet.length > 0 || failed + errors > 0 ? '❌' : unjudged === total ? '❔' : '✅';
    const troubled = cases.filter(({ verdict }) => verdict !== 'pass');
    return [
      bounded([
        { lines: [`## ${mark} ${passed - unjudged} of ${counted(total, 'case')} passed`, ''] },
        {
          lines: [
            `${failed} failed, ${errors} without a verdict, ${unjudged} not judged. Run ${code(run.run_id)}, ${run.version}, target ${code(run.base_url)}.`,
            '',
            ...unmet.map(message => `- gate: ${prose(message)}`),
            ...(unmet.length > 0 ? [''] : []),
            ...(repaired === undefined ? [] : [`**Repaired:** ${repaired}.`, '']),
            ...(note === undefined ? [] : [prose(note), '']),
          ],
        },
        table(
          'cases that did not pass',
          ['Case', 'Verdict', 'What is wrong'],
          troubled.map(one => () => [code(one.case_id), one.verdict, reasons(problemsOf(one))]),
        ),
      ]),
    ];
  },
};

const BYTES_MAX = 60_000;

/** A section. Rows that do not fit into the comment are left out, and the comment says how many. */
interface Section {
  readonly lines: readonly string[];
  readonly rows?: { readonly what: string; readonly each: readonly (() => string)[] };
  readonly after?: readonly string[];
}

function* sections(comparison: Comparison): Generator<Section> {
  const { cases } = comparison;
  yield { lines: headline(comparison) };
  const findings = flaggedCases(comparison);
  const regressed = byFinding(
    cases.filter(({ change, case_id }) => change === 'regressed' || findings.has(case_id)),
    findings,
  );
  yield { lines: causes(cases) };
  yield table(
    'regressions',
    ['Case', 'Trials', 'Cause', 'What fails'],
    regressed.map(one => () => [named(one), markedTally(one, findings), causeOf(one), reasons(failuresOf(one))]),
  );
  yield { lines: sums(comparison) };
  yield table(
    'changed cases',
    ['Case', 'Changed since the baseline'],
    changedCases(comparison).map(one => () => [named(one), changedText(one)]),
  );
  yield folded(
    'Confidence and evidence',
    'causes',
    regressed.flatMap(one => (one.divergence ? [() => `- ${evidence(one)}`] : [])),
  );
  const others = (concern: 'flaky' | 'missing') =>
    cases.filter(one => concernOf(one) === concern && !findings.has(one.case_id));
  for (const [title, concerned] of [
    ['Failed before and still fail', cases.filter(one => concernOf(one) === 'failing')],
    ['Flaky', others('flaky')],
    ['Missing on one or both sides', others('missing')],
    ['Improved', cases.filter(({ change }) => change === 'improved')],
  ] as const) {
    yield folded(
      `${title}: ${concerned.length}`,
      `under “${title}”`,
      concerned.map(one => () => `- ${code(one.case_id)}${detail(one)}`),
    );
  }
  yield { lines: footer(comparison) };
}

/** How many cases regressed for each cause, if some share one. */
function causes(cases: readonly ComparedCase[]): string[] {
  const groups = causeGroups(cases)
    .filter(({ concern }) => concern === 'regressed')
    .toSorted((a, b) => b.cases.length - a.cases.length);
  if (groups.every(({ cases }) => cases.length === 1)) return [];
  const rest = groups.slice(CAUSES_MAX).reduce((sum, { cases }) => sum + cases.length, 0);
  return [
    '**Regressions by cause:**',
    '',
    ...groups.slice(0, CAUSES_MAX).map(({ text, cases }) => `- ${cases.length} × ${prose(text)}`),
    ...(rest > 0 ? [`- ${rest} × other causes`] : []),
    '',
  ];
}

const CAUSES_MAX = 12;

const MARKS = { no_regression: '✅', regression: '❌', not_enough_evidence: '❔' } as const;

function headline(comparison: Comparison): string[] {
  const { verdict, reason } = comparison;
  const note = causesNote(comparison);
  const remarks = [
    ...(explanationOf(comparison)?.notes ?? []).map(({ label, says }) => `- **${label}:** ${prose(says)}`),
    ...breachMessages(comparison).flatMap(message => (reason.includes(message) ? [] : [`- gate: ${prose(message)}`])),
    ...driftGroups(comparison).slice(0, DRIFT_MAX).map(driftLine),
    ...(note === undefined ? [] : [`- note: ${prose(note)}`]),
  ];
  return [
    `## ${MARKS[verdict]} ${verdictWord(comparison)}`,
    '',
    prose(reason),
    '',
    ...remarks,
    ...(remarks.length > 0 ? [''] : []),
  ];
}

const DRIFT_MAX = 20;

function driftLine({ of, changes, note }: ReturnType<typeof driftGroups>[number]): string {
  const told = changes
    .slice(0, DRIFT_MAX)
    .map(({ name, baseline, new: now }) => `${name === '' ? '' : `${code(name)} `}${code(baseline)} → ${code(now)}`);
  return `- drift: ${code(of)} ${told.join(', ')}${note === undefined ? '' : ` (${prose(note)})`}`;
}

function table(what: string, heads: readonly string[], each: readonly (() => readonly string[])[]): Section {
  if (each.length === 0) return { lines: [] };
  return {
    lines: [`| ${heads.join(' | ')} |`, `|${'---|'.repeat(heads.length)}`],
    rows: { what, each: each.map(cells => () => `| ${cells().join(' | ')} |`) },
    after: [''],
  };
}

function folded(title: string, what: string, each: readonly (() => string)[]): Section {
  if (each.length === 0) return { lines: [] };
  return { lines: [`<details><summary>${title}</summary>`, ''], rows: { what, each }, after: ['', '</details>', ''] };
}

function named({ case_id, title }: ComparedCase): string {
  return title === null ? code(case_id) : `${code(case_id)} ${prose(title)}`;
}

function changedText(one: ComparedCase): string {
  const lines = changeLines(one);
  const shown = lines.slice(0, LINES_MAX).map(prose).join('; ');
  const rest = lines.length > LINES_MAX ? `; and ${lines.length - LINES_MAX} more` : '';
  return `${isWeakened(one.changed) ? '**weakened** ' : ''}${shown}${rest}`;
}

const LINES_MAX = 5;

function causeOf({ divergence }: ComparedCase): string {
  return divergence ? `**${divergence.kind.replace('_', ' ')}**: ${prose(firstSentence(divergence.says))}` : 'unknown';
}

function firstSentence(text: string): string {
  const end = text.indexOf('. ');
  return end < 0 ? text : text.slice(0, end + 1);
}

function evidence({ case_id, divergence }: ComparedCase): string {
  const cites = divergence?.cites.map(cite => code(cite)).join(', ') ?? '';
  return `${code(case_id)}: confidence ${divergence?.confidence}${cites === '' ? '' : `, based on ${cites}`}. ${prose(divergence?.says ?? '')}`;
}

function reasons(failures: readonly { readonly name: string; readonly message: string }[]): string {
  const shown = failures.slice(0, 3).map(({ name, message }) => `${code(name)} ${prose(message)}`);
  const rest = failures.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}

function detail(one: ComparedCase): string {
  if (one.side_missing) return `: missing from ${SIDE_NAMES[one.side_missing]}`;
  if (one.change === 'flaky') return `: ${tallyText(one)}`;
  const failures = reasons(failuresOf(one));
  return failures === '' ? '' : `: ${failures}`;
}

function sums(comparison: Comparison): string[] {
  const { summary, statistics } = comparison;
  const { cases, regressed, improved, same, flaky, missing } = summary;
  const { metrics } = statistics;
  const rates = explanationOf(comparison)?.ratesNote ?? null;
  const repaired = repairedSidesText(comparison);
  return [
    `**${counted(cases, 'case')}:** ${regressed} regressed, ${improved} improved, ${same} same, ${flaky} flaky, ${missing} missing` +
      ` (${trialsNote(comparison)}).`,
    ...(rates === null ? [] : ['', `**Pass rate:** ${rates}`]),
    '',
    ...(metrics.length === 0
      ? []
      : [
          '| Metric | Cases | Mean | p50 | p95 | Difference of means (95 %) |',
          '|---|---|---|---|---|---|',
          ...metrics.map(metric => {
            const { name, pairs, baseline, new: now, difference, resampled } = metric;
            const step = (key: 'mean' | 'p50' | 'p95'): string =>
              `${measure(name, baseline[key])} → ${measure(name, now[key])}`;
            const drawn = resampled === undefined ? `${pairs}` : `${pairs}, resampled ${resampled} at a time`;
            return `| ${METRICS[name].label} | ${drawn} | ${step('mean')} | ${step('p50')} | ${step('p95')} | ${change(name, difference.mean)} (${intervalOf(metric) ?? NO_INTERVAL}) |`;
          }),
          '',
        ]),
    ...(repaired === undefined ? [] : [`**Repaired:** ${repaired}.`, '']),
  ];
}

function footer({ comparison_id, sides, gate }: Comparison): string[] {
  const before = sides.baseline.trials === 0 ? 'none' : runs(sides.baseline.run_ids);
  const accepted = sides.baseline.source === 'accepted' ? ' (accepted)' : '';
  return [
    `Comparison ${code(comparison_id)}, gate ${gate.mode}. Baseline: ${before}${accepted}. Candidate: ${runs(sides.new.run_ids)}.`,
  ];
}

function runs(ids: readonly string[]): string {
  const shown = ids.slice(0, RUNS_MAX).map(id => code(id));
  return `${shown.join(', ')}${ids.length > RUNS_MAX ? ` and ${ids.length - RUNS_MAX} more` : ''}`;
}

const RUNS_MAX = 5;

/** Joins sections up to the limit: frames first, so that none stays open, then rows in order while they fit. */
function bounded(sections: Iterable<Section>): string {
  const all = [...sections];
  const frames = all.flatMap(({ lines, after = [] }) => [...lines, ...after]);
  let room = frames.reduce((left, line) => left - bytesOf(line), BYTES_MAX - NOTE_BYTES_MAX);
  const kept: string[] = [];
  const cut: string[] = [];
  for (const { lines, rows, after = [] } of all) {
    kept.push(...lines);
    let shown = 0;
    for (const each of rows?.each ?? []) {
      const row = each();
      room -= bytesOf(row);
      if (room < 0) break;
      kept.push(row);
      shown++;
    }
    if (rows && shown < rows.each.length) cut.push(`${rows.each.length - shown} of ${rows.each.length} ${rows.what}`);
    kept.push(...after);
  }
  if (cut.length > 0) kept.push('', `Not shown, because a comment is limited to 60 kB: ${cut.join(', ')}.`);
  return `${kept.join('\n')}\n`;
}

function bytesOf(line: string): number {
  return Buffer.byteLength(line) + 1;
}

/** Room for the line that reports the cut. */
const NOTE_BYTES_MAX = 1_000;
