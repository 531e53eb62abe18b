import { clip } from '../base/clip.ts';
import { printable } from '../base/printable.ts';
import type { ComparedCase, Comparison } from '../contracts/comparison/index.ts';
import { standingOf } from '../contracts/comparison/index.ts';
import type { JudgedCase } from '../contracts/evaluation/index.ts';
import { changeLines } from './changes.ts';
import type { LimitCheck } from '../contracts/gate/limits/index.ts';
import { concernOf, failuresOf, type Report, SIDE_NAMES, problemsOf, verdictWord } from './report.ts';

/** JUnit XML in the form that most CI services read: a testsuite per suite, a testcase per case. */
export const junit: Report = {
  file: 'junit.xml',
  ofComparison: comparison => {
    const { cases, gate } = comparison;
    const own = [verdictTests(comparison), limitTests(gate.checks)];
    return documentOf(cases, ({ suite }) => suite ?? 'proctor', rowOfComparison, own);
  },
  ofRun: ({ evaluation: { cases, gate } }) => documentOf(cases, () => 'proctor', rowOfRun, [limitTests(gate?.checks)]),
};

interface Row {
  readonly name: string;
  readonly latencyMs: number | null;
  /** The time to the first token, if known. */
  readonly ttftMs?: number | undefined;
  readonly outcome: 'passed' | 'failure' | 'error' | 'skipped';
  readonly type: string;
  /** What failed, one line each; the first is the headline. */
  readonly lines: readonly string[];
  /** A note on a case that did not fail. */
  readonly note?: string;
}

function rowOfComparison(one: ComparedCase): Row {
  const { case_id, change, side_missing, divergence, new: candidate } = one;
  const last = candidate.trials.at(-1);
  const row = {
    name: case_id,
    latencyMs: last?.latency_ms ?? last?.failure?.latency_ms ?? null,
    ttftMs: last?.ttft_ms,
  };
  const concern = concernOf(one);
  const failures = failuresOf(one).map(({ name, message }) => `${name}: ${message}`);
  const changes = changeLines(one);
  if (concern === undefined)
    return {
      ...row,
      outcome: 'passed',
      type: change,
      lines: [],
      ...(changes.length > 0 && { note: changes.join('\n') }),
    };
  if (concern === 'flaky') {
    const count = candidate.trials.filter(trial => standingOf(trial) === 'passed').length;
    return {
      ...row,
      outcome: 'passed',
      type: concern,
      lines: [],
      note: `flaky: ${count} of ${candidate.trials.length} trials passed`,
    };
  }
  if (concern === 'missing') {
    return { ...row, outcome: 'skipped', type: concern, lines: [`missing from ${SIDE_NAMES[side_missing ?? 'both']}`] };
  }
  const cause = divergence
    ? [
        `${divergence.kind}: ${divergence.says}`,
        ...(divergence.cites.length > 0 ? [`at ${divergence.cites.join(', ')}`] : []),
      ]
    : [];
  const isError = concern === 'failing' && candidate.trials.every(({ verdict }) => verdict === 'error');
  return { ...row, outcome: isError ? 'error' : 'failure', type: concern, lines: [...failures, ...cause, ...changes] };
}

function rowOfRun(one: JudgedCase): Row {
  const { case_id, verdict, error_class, failure, metrics } = one;
  const problems = problemsOf(one);
  const lines = problems.map(({ name, message }) => `${name}: ${message}`);
  const latencyMs = metrics.latency_ms ?? failure?.latency_ms ?? null;
  const row = { name: case_id, latencyMs, ttftMs: metrics.ttft_ms, lines };
  if (verdict === 'pass') return { ...row, outcome: 'passed', type: verdict };
  if (error_class === 'missing') return { ...row, outcome: 'skipped', type: error_class };
  return verdict === 'fail'
    ? { ...row, outcome: 'failure', type: 'failing' }
    : { ...row, outcome: 'error', type: problems[0]?.name ?? 'check' };
}

/** Tests for the verdict and the limits, which belong to no case. */
interface OwnTests {
  readonly name: string;
  readonly rows: readonly Row[];
}

/** A verdict other than "no regression" fails a test, because every case may be unchanged or missing. */
function verdictTests(comparison: Comparison): OwnTests {
  const { verdict, reason } = comparison;
  const outcome = ({ no_regression: 'passed', regression: 'failure', not_enough_evidence: 'error' } as const)[verdict];
  const lines = verdict === 'no_regression' ? [] : [`${verdictWord(comparison)}: ${reason}`];
  return { name: 'proctor verdict', rows: [{ name: 'verdict', latencyMs: null, type: verdict, outcome, lines }] };
}

function limitTests(checks: readonly LimitCheck[] = []): OwnTests {
  return { name: 'proctor limits', rows: checks.map(rowOfCheck) };
}

/** Each limit on the candidate is a test, because it may fail even if every case is unchanged. */
function rowOfCheck({ of, name, limit, is_met, message }: LimitCheck): Row {
  const row = { name: name === null ? limit : `${of} ${name}: ${limit}`, latencyMs: null, type: limit };
  return { ...row, outcome: is_met ? 'passed' : 'failure', lines: is_met ? [] : [message] };
}

/** One piece per case, so that 100,000 cases are never in memory at once. Counts come first. */
function* documentOf<Case>(
  cases: readonly Case[],
  suiteOf: (one: Case) => string,
  rowOf: (one: Case) => Row,
  own: readonly OwnTests[],
): Generator<string> {
  const suites = new Map<string, { readonly cases: Case[]; readonly counts: Counts }>();
  const all = new Counts();
  for (const one of cases) {
    const name = suiteOf(one);
    let suite = suites.get(name);
    if (!suite) suites.set(name, (suite = { cases: [], counts: new Counts() }));
    suite.cases.push(one);
    const row = rowOf(one);
    suite.counts.add(row);
    all.add(row);
  }
  for (const { rows } of own) for (const row of rows) all.add(row);
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="proctor" ${all.attributes()}>\n`;
  for (const { name, rows } of own.filter(({ rows }) => rows.length > 0)) {
    const counts = new Counts();
    for (const row of rows) counts.add(row);
    yield `  <testsuite name="${name}" ${counts.attributes()}>\n`;
    for (const row of rows) yield testcase(row, name);
    yield '  </testsuite>\n';
  }
  for (const [name, { cases, counts }] of suites) {
    yield `  <testsuite name="${xml(name)}" ${counts.attributes()}>\n`;
    for (const one of cases) yield testcase(rowOf(one), name);
    yield '  </testsuite>\n';
  }
  yield '</testsuites>\n';
}

class Counts {
  #tests = 0;
  #timeMs = 0;
  readonly #outcomes = { passed: 0, failure: 0, error: 0, skipped: 0 };

  add({ outcome, latencyMs }: Row): void {
    this.#tests++;
    this.#outcomes[outcome]++;
    this.#timeMs += latencyMs ?? 0;
  }

  attributes(): string {
    const { failure, error, skipped } = this.#outcomes;
    return `tests="${this.#tests}" failures="${failure}" errors="${error}" skipped="${skipped}" time="${seconds(this.#timeMs)}"`;
  }
}

function testcase(row: Row, suite: string): string {
  const { name, latencyMs } = row;
  const head = `    <testcase name="${xml(name)}" classname="${xml(suite)}" time="${seconds(latencyMs ?? 0)}"`;
  const parts = [...propertiesOf(row), ...outcomeOf(row)];
  if (parts.length === 0) return `${head}/>\n`;
  return `${head}>\n${parts.map(part => `      ${part}\n`).join('')}    </testcase>\n`;
}

/** JUnit has one time per test, so the time to the first token is a property. */
function propertiesOf({ ttftMs }: Row): string[] {
  return ttftMs === undefined ? [] : [`<properties><property name="ttft_ms" value="${ttftMs}"/></properties>`];
}

function outcomeOf({ outcome, type, lines, note }: Row): string[] {
  if (outcome === 'passed') return note === undefined ? [] : [`<system-out>${xml(note)}</system-out>`];
  const message = `message="${xml(lines[0] ?? type)}"`;
  if (outcome === 'skipped') return [`<skipped ${message}/>`];
  const body = lines.map(line => xml(line)).join('\n');
  return [`<${outcome} type="${xml(type)}" ${message}>${body}</${outcome}>`];
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

/**
 * A text in XML 1.0. Control characters, lone surrogates and the two code points that XML forbids are written as
 * escapes, because no entity can name them. Escaping every ">" prevents a forged end of a section.
 */
function xml(text: string): string {
  const { text: head, truncated } = clip(text, TEXT_BYTES_MAX);
  const safe = printable(head).replace(/[\uFFFE\uFFFF]/g, character => `\\u{${character.charCodeAt(0).toString(16)}}`);
  return `${safe.replace(/[&<>"']/g, character => ENTITIES[character] ?? '')}${truncated ? '…' : ''}`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const TEXT_BYTES_MAX = 1_000;
