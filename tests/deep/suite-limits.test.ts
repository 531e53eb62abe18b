import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Comparison, comparison as comparisonContract } from '../../src/contracts/comparison/index.ts';
import { type Evaluation, evaluation as contract } from '../../src/contracts/evaluation/index.ts';
import { Place, until } from '../support/runs.ts';
import { judged, type Ran, rulesOf } from '../support/support.ts';
import { Agent, answersWell, answerTo, hangs, json } from '../run/suite/agent.ts';

type Behaviours = NonNullable<ConstructorParameters<typeof Agent>[0]>;

/** An answer that fails the expectations of good cases. */
const answersBadly: typeof answersWell = (seen, response) =>
  json(response, answerTo(seen, { final_output: { content_type: 'text', content: 'something else' } }));

/** A project with cases and an agent, and functions that run commands in it. */
async function world(cases: readonly object[], behaviours: Behaviours = {}) {
  const place = new Place();
  onTestFinished(() => place.remove());
  place.file('cases.json', JSON.stringify(cases));
  const agent = new Agent(behaviours);
  const url = await agent.start();
  // The agent runs in this process, so commands must not block the event loop.
  const proctor = (...args: string[]): Promise<Ran> => place.start(args).ended;
  const words = (side: string, ...more: string[]) => [
    'run',
    'suite',
    'cases.json',
    '--base-url',
    url,
    '--as',
    side,
    ...more,
  ];
  const suite = (side: 'baseline' | 'new', ...more: string[]) => proctor(...words(side, ...more));
  const evaluation = (id: string): Evaluation =>
    JSON.parse(readFileSync(path.join(place.cwd, '.proctor/runs/new', id, 'evaluation.json'), 'utf8')) as Evaluation;
  return { place, agent, proctor, words, suite, evaluation };
}

const good = (id: string, more: object = {}) => ({
  id,
  input: { user: id },
  expected: { contains: 'You asked' },
  ...more,
});
const bad = (id: string, more: object = {}) => good(id, { expected: { contains: 'no such words' }, ...more });
const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';
/** The last line that is not indented: the verdict. */
const verdictLine = (text: string): string => text.split('\n').findLast(line => /^\S/.test(line)) ?? '';

describe('a run without limits', () => {
  test('exits with 1 if every judged case fails, and says so last', async () => {
    const { suite, proctor } = await world([bad('a'), bad('b'), { id: 'smoke', input: { user: 'smoke' } }]);
    const { code, stderr } = await suite('new');
    expect(code).toBe(1);
    expect(verdictLine(stderr)).toBe('✗ Every judged case fails.');
    expect(stderr).toMatch(/^✗ all answered, none passed {2}new {2}3 of 3 cases/m);
    const { stdout } = await suite('new', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ ending: { how: 'exited', code: 1 }, all_failing: true, checks: [] });
    expect((await proctor('verify', '.proctor/runs/new')).code).toBe(0);
  });

  test('says so if no case has an answer to judge', async () => {
    const { suite } = await world([good('a')], { a: (_seen, response) => response.writeHead(404).end('no') });
    const { code, stderr } = await suite('new');
    expect([code, verdictLine(stderr)]).toEqual([1, '✗ No case has an answer that Proctor can judge.']);
  });

  test('counts a case without a judged expectation neither as passed nor as failed, in every output', async () => {
    const slow = { id: 'slow', input: { user: 'slow' }, expected: { max_ttft_ms: 100 } };
    const { suite, proctor } = await world([good('a'), { id: 'smoke', input: { user: 'smoke' } }, slow]);
    const { stderr } = await suite('new', '--run-id', 'r1');
    const unjudged = '; 1 without an expectation, 1 with no expectation that could be judged';
    expect(stderr).toContain(`judged    1 of 3 passed${unjudged}\n`);
    const { stdout } = await proctor('show', 'r1');
    expect(stdout).toContain('3 of 3 cases answered, 1 passed');
    expect(stdout).toContain(`judged    1 passed, 0 failed, 0 without a verdict${unjudged}\n`);
    expect(stdout).toContain('open   slow  max_ttft_ms: The time to first token is unknown');
    const report = await proctor('report', 'r1', '--format', 'terminal,md');
    expect(report.stdout).toContain('\n✓ 1 of 3 cases passed: 0 failed, 0 without a verdict, 2 not judged\n');
  });

  test('exits with 0 if some pass, but does not report a success', async () => {
    const { suite } = await world([good('a'), bad('b')]);
    const { code, stderr } = await suite('new');
    expect(code).toBe(0);
    expect(verdictLine(stderr)).toMatch(/^! all answered, not all passed/);
  });

  test('exits with 0 if nothing is expected, and says that nothing was judged', async () => {
    const { suite } = await world([{ id: 'a', input: { user: 'a' } }]);
    const { code, stderr } = await suite('new');
    expect(code).toBe(0);
    expect(verdictLine(stderr)).toMatch(/^! all answered, nothing judged/);
  });
});

describe('a limit on a run', () => {
  test('that is not met leads to exit code 1, is reported last, and is kept in evidence that verifies', async () => {
    const { suite, proctor, place, evaluation } = await world([good('a'), bad('b')]);
    const { code, stderr } = await suite('new', '--run-id', 'r1', '--max-failing', '0');
    expect(code).toBe(1);
    expect(verdictLine(stderr)).toBe('✗ 1 of 2 cases fails, and none may (max_failing): “b”.');
    const request: unknown = JSON.parse(
      readFileSync(path.join(place.cwd, '.proctor/runs/new/r1/evidence/request.json'), 'utf8'),
    );
    expect(request).toMatchObject({ gate: { limits: { max_failing: 0 } } });
    expect(evaluation('r1').gate).toMatchObject({
      limits: { max_failing: 0 },
      checks: [{ limit: 'max_failing', allowed: 0, measured: 1, is_met: false }],
    });
    expect((await proctor('verify', '.proctor/runs/new/r1')).code).toBe(0);
  });

  test('that is met leads to exit code 0', async () => {
    const { suite } = await world([good('a'), bad('b')]);
    const { code, stderr } = await suite('new', '--max-failing', '1', '--min-pass-rate', '0.5');
    expect(code).toBe(0);
    expect(verdictLine(stderr)).toBe('✓ All 2 limits are met.');
  });

  test('applies to all repetitions together, and the evidence of the last one names them', async () => {
    const flips: Behaviours = { b: (...asked) => (asked[2] === 1 ? answersWell : answersBadly)(...asked) };
    const { suite, proctor, evaluation } = await world([good('a'), good('b')], flips);
    const { code, stderr } = await suite(
      'new',
      '--run-id',
      'r1',
      '--repeat',
      '2',
      '--max-flaky',
      '0',
      '--max-failing',
      '0',
    );
    expect(code).toBe(1);
    expect(verdictLine(stderr)).toBe('✗ 1 of 2 cases is flaky, and none may be (max_flaky): “b”.');
    expect(evaluation('r1').gate).toBeUndefined();
    expect(evaluation('r1.2').gate).toMatchObject({
      earlier: {
        run_ids: ['r1'],
        cases: [
          { case_id: 'a', tally: { passed: 1 } },
          { case_id: 'b', tally: { passed: 1 } },
        ],
      },
      checks: [
        { limit: 'max_failing', is_met: true },
        { limit: 'max_flaky', measured: 1, is_met: false },
      ],
    });
    expect((await proctor('verify', '.proctor/runs/new')).code).toBe(0);
    const { stdout } = await proctor('compare', '--json');
    const { judgements } = JSON.parse(stdout) as { judgements: { state: string; judged: string }[] };
    expect(judgements.map(({ state, judged: how }) => `${state} ${how}`)).toEqual([
      'sound as_sealed',
      'sound as_sealed',
    ]);
  });

  test('in a gate file can apply to a suite, a tag or a severity', async () => {
    const cases = [
      good('a', { suite: 'refunds', metadata: { tags: ['billing'], severity: 'high' } }),
      bad('b', { suite: 'refunds', metadata: { tags: ['slow'] } }),
      bad('c', { suite: 'orders', metadata: { severity: 'low' } }),
    ];
    const { suite, place } = await world(cases);
    place.file(
      'gate.yaml',
      'schema_version: gate.v1\nper_tag: { billing: { max_failing: 0 } }\nper_severity: { high: { min_pass_rate: 1 } }\n',
    );
    const held = await suite('new', '--gate', 'gate.yaml');
    expect(held).toMatchObject({ code: 0 });
    for (const [limits, line] of [
      [
        'per_suite: { refunds: { max_failing: 0 } }',
        '✗ Suite “refunds”: 1 of 2 cases fails, and none may (max_failing): “b”.',
      ],
      ['per_tag: { slow: { max_failing: 0 } }', '✗ Tag “slow”: 1 of 1 case fails, and none may (max_failing): “b”.'],
      [
        'per_severity: { low: { max_failing: 0 } }',
        '✗ Severity “low”: 1 of 1 case fails, and none may (max_failing): “c”.',
      ],
    ] as const) {
      place.file('gate.yaml', `schema_version: gate.v1\n${limits}\n`);
      const { code, stderr } = await suite('new', '--gate', 'gate.yaml');
      expect([code, verdictLine(stderr)]).toEqual([1, line]);
    }
  });

  test('without a measurement is not met, and names what is unknown', async () => {
    const { suite } = await world([{ id: 'a', input: { user: 'a' } }]);
    const { code, stderr } = await suite('new', '--max-failing', '0', '--max-flaky', '0');
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n').slice(-2)).toEqual([
      '✗ max_failing cannot be judged: no case was judged.',
      '✗ max_flaky cannot be judged: no case was judged twice. --repeat 3 runs the suite three times.',
    ]);
  });

  test('still applies after a resume', async () => {
    const slow: Behaviours = { b: (...asked) => (asked[2] === 1 ? hangs : answersBadly)(...asked) };
    const { place, agent, proctor, words } = await world([good('a'), good('b')], slow);
    const run = place.start(words('new', '--run-id', 'r1', '--concurrency', '1', '--max-failing', '0'));
    await until('the last case was sent', () => agent.times('b') === 1);
    run.kill('SIGKILL');
    await run.ended;
    const { code, stderr } = await proctor('run', 'suite', '--resume', 'r1');
    expect(stderr).toContain('✗ 1 of 2 cases fails, and none may (max_failing): “b”.\n');
    expect(code).toBe(1);
  });

  test('that was changed afterwards is detected by the verifier', async () => {
    const { suite, evaluation } = await world([good('a'), bad('b')]);
    await suite('new', '--run-id', 'r1', '--max-failing', '0');
    const told = evaluation('r1');
    const gate = told.gate as NonNullable<Evaluation['gate']>;
    expect((await judged(contract, told)).violations).toEqual([]);
    for (const forged of [
      { ...gate, checks: gate.checks.map(check => ({ ...check, measured: 0, is_met: true })) },
      { ...gate, limits: { max_failing: 5 } },
      { ...gate, checks: [] },
      { ...gate, earlier: { run_ids: ['r0'], seals: [told.seal_sha256], cases: [] } },
    ]) {
      expect(new Set(rulesOf(await judged(contract, { ...told, gate: forged })))).toEqual(new Set(['EV8']));
    }
  });

  test.each([
    ['--max-failing', '-1'],
    ['--max-failing', 'none'],
    ['--min-pass-rate', '90'],
    ['--min-pass-rate', '1.5'],
    ['--gate', 'no-such-file.yaml'],
  ])('%s %s is refused before anything is sent', async (...flag) => {
    const { suite, agent } = await world([good('a')]);
    const { code } = await suite('new', ...flag);
    expect(code).toBe(2);
    expect(agent.seen).toEqual([]);
  });
});

describe('reports of a run follow its verdicts', () => {
  const GREEN = '\u001b[32m';
  const RED = '\u001b[31m';
  const coloured = { FORCE_COLOR: '1', NO_COLOR: '' };

  test('if every case passes', async () => {
    const { suite, place, proctor } = await world([good('a')]);
    await suite('new');
    expect((await place.start(['show'], coloured).ended).stdout).toMatch(`${GREEN}✓`);
    expect((await proctor('show')).stdout).toMatch(/^✓ 1 of 1 case answered, 1 passed/);
    expect((await place.start(['list'], coloured).ended).stdout).toContain(`${GREEN}passed `);
  });

  test('if no case passes', async () => {
    const { suite, place, proctor } = await world([bad('a')]);
    await suite('new', '--run-id', 'r1');
    expect(firstLine((await proctor('show')).stdout)).toBe('✗ 1 of 1 case answered, 0 passed  new');
    const list = await place.start(['list'], coloured).ended;
    expect(list.stdout).toContain(`${RED}none passed `);
    expect(list.stdout).toContain('new, 1 of 1 case, 0 passed, 1 failed, http');
    const { stdout } = await proctor('list', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      runs: [
        { run_id: 'r1', status: 'none passed', judged: { total: 1, passed: 0, failed: 1, errors: 0, unjudged: 0 } },
      ],
    });
  });

  test('if some cases pass', async () => {
    const { suite, proctor } = await world([good('a'), bad('b')]);
    await suite('new');
    expect(firstLine((await proctor('show')).stdout)).toBe('! 2 of 2 cases answered, 1 passed  new');
    expect((await proctor('list')).stdout).toMatch(/^not all passed .* 2 of 2 cases, 1 passed, 1 failed/);
  });

  test('if a limit is not met, though every case passes', async () => {
    const { suite, proctor, place } = await world([good('a')]);
    await suite('new', '--run-id', 'r1', '--max-flaky', '0');
    const message = 'max_flaky cannot be judged: no case was judged twice. --repeat 3 runs the suite three times.';
    expect((await proctor('show')).stdout.split('\n').slice(0, 2)).toEqual([
      '✗ 1 of 1 case answered, 1 passed  new',
      `  gate      ${message}`,
    ]);
    expect((await proctor('list')).stdout).toMatch(/^limit not met /);
    const { stdout } = await proctor('report', 'r1', '--format', 'junit,md,terminal,html', '--out', 'reports');
    expect(stdout.split('\n').slice(1, 3)).toEqual([
      '✗ 1 of 1 case passed: 0 failed, 0 without a verdict',
      `  gate  ${message}`,
    ]);
    const report = (file: string) => readFileSync(path.join(place.cwd, 'reports', file), 'utf8');
    expect(report('report.md')).toMatch(/^## ❌ 1 of 1 case passed\n/);
    expect(report('report.md')).toContain('- gate: max');
    expect(report('junit.xml')).toContain('<testsuites name="proctor" tests="2" failures="1"');
    expect(report('junit.xml')).toContain('<testcase name="max_flaky" classname="proctor limits"');
    expect(report('report.html')).toContain('Limit not met');
  });
});

describe('a limit on a comparison', () => {
  test('that is not met leads to exit code 1 and is reported last, even if both sides are the same', async () => {
    const { suite, proctor, place } = await world([good('a'), bad('b')]);
    await suite('baseline');
    await suite('new');
    const { code, stdout } = await proctor('compare', '--max-failing', '0', '--out', 'compared');
    expect(code).toBe(1);
    expect(verdictLine(stdout)).toBe('✗ Limit not met  1 of 2 cases fails, and none may (max_failing): “b”.');
    const comparison = JSON.parse(readFileSync(path.join(place.cwd, 'compared/comparison.json'), 'utf8')) as Comparison;
    expect(comparison).toMatchObject({
      verdict: 'regression',
      exit_code: 1,
      gate: { limits: { max_failing: 0 }, checks: [{ limit: 'max_failing', measured: 1, is_met: false }] },
    });
    expect((await proctor('verify', 'compared')).code).toBe(0);
    expect((await proctor('compare', '--max-failing', '1')).code).not.toBe(1);
    const { gate } = comparison;
    const met = gate.checks?.map(check => ({ ...check, is_met: true }));
    for (const [forged, rules] of [
      [{ ...comparison, verdict: 'no_regression', exit_code: 0 }, ['CM3']],
      [{ ...comparison, verdict: 'no_regression', exit_code: 0, gate: { ...gate, checks: met } }, ['CM13']],
      [{ ...comparison, verdict: 'no_regression', exit_code: 0, gate: { ...gate, checks: [] } }, ['CM11', 'CM13']],
    ] as const) {
      expect(rulesOf(await judged(comparisonContract, forged))).toEqual(rules);
    }
  });

  test('applies without a baseline', async () => {
    const { suite, proctor } = await world([good('a'), bad('b')]);
    await suite('new');
    expect((await proctor('compare')).code).toBe(3);
    const { code, stdout } = await proctor('compare', '--min-pass-rate', '0.9');
    expect(code).toBe(1);
    expect(verdictLine(stdout)).toBe(
      '✗ Limit not met  50 % of the trials pass, and at least 90 % must (min_pass_rate).',
    );
  });
});
