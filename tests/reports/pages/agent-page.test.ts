import { describe, expect, test } from 'vitest';
import { policySummary, type PolicySummary } from '../../../src/contracts/agent-step/policy-summary.ts';
import { outcomeExample } from '../../../src/contracts/agent-step/outcome-example.ts';
import { checkResult, type CheckResult } from '../../../src/contracts/check-result/index.ts';
import { agentPage } from '../../../src/reports/pages/agent-page.ts';
import type { AgentPageInput } from '../../../src/reports/pages/agent-page.ts';
import { htmlPage } from '../../../src/reports/pages/html-page.ts';
import { temporaryFolder } from '../../support/support.ts';
import { DIFF, HOSTILE, linesFrom, manyCalls, pageInput } from './agent-page-world.ts';

const pageOf = (over: Partial<AgentPageInput> = {}, diff = DIFF) => agentPage(pageInput(temporaryFolder(), over, diff));

describe('the verdict', () => {
  test.each([
    ['completed', 'ok', null, 'good', 'Completed', 'claude 2.1.325 reports success.'],
    ['error', 'api_error', 'The model is down.', 'bad', 'Failed', 'claude 2.1.325 failed. The model is down.'],
    ['killed_timeout', 'wall_clock', 'Too long.', 'bad', 'Timed out', 'after 10 min, its time limit.'],
    ['killed_idle', 'stalled', 'No progress.', 'bad', 'Stalled', 'Proctor stopped claude 2.1.325. No progress.'],
    ['killed_policy', 'forbidden_path', 'It wrote there.', 'bad', 'Stopped by policy', 'It wrote there.'],
  ] as const)('says how a run ended: %s', (termination, reason, detail, tone, word, sentence) => {
    const { top } = pageOf({ outcome: { ...outcomeExample, termination, reason, detail } });
    expect(top).toMatchObject({ tone, word, subject: 'Agent run' });
    expect(top.sentence).toContain(sentence);
    expect(top.sentence).toContain('It changed 2 files (+4\u00a0−1).');
  });

  test('puts violations before claims, and evidence that does not verify before both', () => {
    const { policy, evaluation } = pageInput(temporaryFolder());
    const flags = [{ flag: 'asks_at_end', message: 'It asks.', seq: 2 }] as const;
    const doubtful = { evaluation: { ...(evaluation as object), flags: [...flags] } as AgentPageInput['evaluation'] };
    expect(pageOf(doubtful).top).toMatchObject({ tone: 'unsure', word: 'Completed, with doubtful claims' });
    const violation = { class: 'native_policy_block', message: 'Denied.', hard: false } as const;
    const violated = { ...doubtful, policy: { ...(policy as NonNullable<typeof policy>), violations: [violation] } };
    expect(pageOf(violated).top).toMatchObject({ tone: 'bad', word: 'Completed, with policy violations' });
    expect(pageOf({ ...violated, isWhole: false }).top).toMatchObject({ tone: 'bad', word: 'Does not verify' });
  });

  test.each([
    ['The check exited with code 1.', '1 of 2 checks passes; unit exited with code 1.'],
    ['3 of 14 tests fail: parse, and 2 more', '1 of 2 checks passes; in unit, 3 of 14 tests fail: parse, and 2 more.'],
    ['A signal ended the check.', '1 of 2 checks passes; unit: a signal ended the check.'],
  ])('says in one sentence how many checks pass and why one does not: %s', (message, sentence) => {
    const result = checkResult.example as CheckResult;
    const checks = [
      { ...result, name: 'fine', verdict: 'passed' as const },
      { ...result, name: 'unit', verdict: 'failed' as const, message },
    ];
    expect(pageOf({ checks }).top.sentence).toContain(` ${sentence}`);
    expect(pageOf({ checks: checks.slice(0, 1) }).top.sentence).toContain(' 1 of 1 check passes. ');
  });

  test.each([
    ['alive', 'Still running'],
    ['dead', 'Interrupted'],
    ['foreign', 'Interrupted'],
  ] as const)('shows a run that is %s, and what is unknown about it', (life, word) => {
    const unknown = { outcome: undefined, policy: undefined, workspace: undefined, evaluation: undefined };
    const gone = { manifest: undefined, metadata: undefined, finalText: undefined, judgement: undefined };
    const { top, data } = pageOf({ life, ...unknown, ...gone, needsReview: undefined });
    expect(top).toMatchObject({ tone: 'unsure', word });
    expect(data).toMatchObject({ policy: null, response: null, task: null, claims: { flags: null } });
    expect(data.usage).toMatchObject({ reported: null, counted: null });
    expect(data.diff).toMatchObject({ absent: 'The run has no diff, so its changes are unknown.', files: [] });
    expect(data.evidence).toMatchObject({ is_open: true, files: null, key_ids: null, sealed: { total: 0 } });
    expect(data.rows).toHaveLength(3);
    expect(data.review.blocked).not.toBeNull();
    expect(data.commands.map(({ command }) => command.split(' ')[1])).toEqual(['show', 'verify']);
  });

  test('shows the planned policy and limits of a run that is alive, and no verdict on violations', () => {
    const { enforcement, clocks, agent } = outcomeExample;
    const planned = { enforcement, clocks, agent, policy: policySummary.example as PolicySummary };
    const { data } = pageOf({ life: 'alive', outcome: undefined, policy: undefined, planned });
    expect(data.policy).toMatchObject({ violationsTotal: null, networkAttempts: null });
    expect(data.policy?.rows.map(({ enforced }) => enforced)).toEqual(
      pageOf({ policy: planned.policy }).data.policy?.rows.map(({ enforced }) => enforced),
    );
    expect(data.policy?.clocks[0]).toEqual({ name: 'whole run', value: '10 min' });
    expect(data.facts.map(({ name }) => name)).not.toContain('Took');
  });
});

describe('the review', () => {
  test('names the files that run automatically, and quotes them in the command', () => {
    const files = [{ path: "a dir/it's.yml", reason: 'the server runs it' }];
    const { review, commands } = pageOf({ needsReview: { total: 1, listed: files } }).data;
    expect(review).toMatchObject({ blocked: null, isEmpty: false, files, filesTotal: 1 });
    expect(commands.map(({ command }) => command)).toEqual([
      String.raw`proctor apply agent_20260403_101500_4f1c9a7be210 --allow-active 'a dir/it'\''s.yml' --check`,
      String.raw`proctor apply agent_20260403_101500_4f1c9a7be210 --allow-active 'a dir/it'\''s.yml'`,
      'proctor show agent_20260403_101500_4f1c9a7be210',
      'proctor verify agent_20260403_101500_4f1c9a7be210',
    ]);
  });

  test('says why `apply` refuses, and does not offer it', () => {
    const outcome = { ...outcomeExample, termination: 'error', reason: 'exit_nonzero', detail: 'It failed.' } as const;
    const { review, commands } = pageOf({ outcome }).data;
    expect(review.blocked).toContain('Use --anyway');
    expect(commands.some(({ command }) => command.includes('apply'))).toBe(false);
    expect(pageOf({ isWhole: false }).data.review.blocked).toContain('does not verify');
  });
});

describe('the rows', () => {
  test('show a call and its result in one row, with the reason for a denial', () => {
    const { rows, calls } = pageOf({
      lines: linesFrom([
        { kind: 'message', role: 'assistant', body: { text: 'First.' }, at: 500 },
        {
          kind: 'tool_call',
          call: 'a',
          tool: 'Bash',
          input: { text: '{"command":"x"}' },
          command: { text: 'x\ny' },
          at: 600,
        },
        { kind: 'denial', call: 'a', tool: 'Bash', reason: 'Not allowed.', at: 610 },
        { kind: 'tool_result', call: 'a', ok: false, output: { text: 'blocked' }, exit_code: 1, at: 900 },
        { kind: 'retry', attempt: 1, status: 529, message: 'busy', at: 1_000 },
        { kind: 'retry', attempt: 2, status: 529, message: 'still busy', at: 1_400 },
        { kind: 'tool_result', call: 'b', ok: true, output: { text: 'late' }, exit_code: null, at: 1_500 },
        { kind: 'final', ok: true, body: { text: 'Done.' }, at: 1_600 },
      ]),
    }).data;
    expect(calls).toEqual({ total: 1, failed: 0, denied: 1 });
    expect(rows.map(({ kind }) => kind)).toEqual(['message', 'call', 'retry', 'result', 'final']);
    expect(rows[0]).toMatchObject({ seq: 1, turn: 1, waited: 500 });
    const call = { seq: 2, about: 'x ⏎ y', state: 'denied', took: 300, exit: 1, reason: 'Not allowed.', waited: 100 };
    expect(rows[1]).toMatchObject({ ...call, text: { text: 'blocked' } });
    expect(rows[2]).toMatchObject({ text: { text: '529: still busy' }, took: 400 });
  });

  test('keep the first and the last of 10,000 calls, and count the rest', () => {
    const { rows, omitted, calls, endMs } = pageOf({ lines: linesFrom(manyCalls(10_000)) }).data;
    expect(rows).toHaveLength(2_000);
    expect(omitted).toEqual({ after: 1_000, count: 8_000, file: 'evidence/steps/agent/transcript.ndjson' });
    expect([rows[0]?.seq, rows[999]?.seq, rows[1_000]?.seq, rows.at(-1)?.seq]).toEqual([1, 1_999, 18_001, 19_999]);
    expect(calls).toEqual({ total: 10_000, failed: 1_429, denied: 0 });
    expect(endMs).toBe(199_990);
  });

  test('shorten long texts until they fit, and say how long each one was', () => {
    const text = '<'.repeat(60_000);
    const { data } = pageOf({ lines: linesFrom(manyCalls(3_000, text)) });
    const kept = data.rows.reduce((sum, row) => sum + (row.text?.text.length ?? 0), 0);
    expect(kept).toBeLessThanOrEqual(4_000_000);
    expect(data.rows[0]?.text).toMatchObject({ total: 60_000 });
  });

  test('belong to the turn that the agent reports', () => {
    const says = (text: string) => ({ kind: 'message', role: 'assistant', body: { text } }) as const;
    const { usage, rows } = pageOf({
      lines: linesFrom([says('a'), says('b'), says('c')]),
      turns: [
        { nativeLine: 1, id: 'one', inputTokens: 100, cachedTokens: 40 },
        { nativeLine: 2, id: 'one', inputTokens: 100, cachedTokens: 40 },
        { nativeLine: 3, id: 'two', inputTokens: null, cachedTokens: null },
      ],
    }).data;
    expect(rows.map(({ turn }) => turn)).toEqual([1, 1, 2]);
    expect(usage.turns).toMatchObject([
      { turn: 1, seq: 1, inputTokens: 100, cachedTokens: 40 },
      { turn: 2, seq: 3, inputTokens: null, cachedTokens: null },
    ]);
  });
});

describe('the diff', () => {
  const fileOf = (lines: readonly string[], name = 'src/total.ts'): string =>
    `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1,${lines.length} @@\n${lines.map(line => `+${line}\n`).join('')}`;

  test('has the lines of each file', () => {
    const { diff } = pageOf().data;
    expect(diff).toMatchObject({ absent: null, total: 2, added: 4, removed: 1, cut: null, masked: 0 });
    expect(diff.files.map(({ path, change }) => [path, change])).toEqual([
      ['src/total.ts', 'add'],
      ['ci.yml', 'update'],
    ]);
    expect(diff.files[1]?.hunks).toEqual([
      { oldFrom: 1, newFrom: 1, lines: [' on: push', '-jobs: {}', '+jobs: { all: "yes" } # every push'] },
    ]);
  });

  test('masks credentials, including keys that span lines', () => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const key = [
      '-----BEGIN PRIVATE KEY-----',
      'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'.repeat(2),
      '-----END PRIVATE KEY-----',
    ];
    const { diff } = pageOf({}, fileOf([`const a = "${token}";`, 'const b = 1;'])).data;
    expect(diff.files[0]?.hunks[0]?.lines).toEqual(['+const a = "[masked]";', '+const b = 1;']);
    expect(diff.masked).toBe(1);
    const lines = pageOf({}, fileOf(['before', ...key, 'after'])).data.diff.files[0]?.hunks[0]?.lines;
    expect(lines).toEqual(['+before', '+[masked]', '+[masked]', '+[masked]', '+after']);
  });

  test('is left out if it contains a declared secret, because only the run knew its value', () => {
    const masking: NonNullable<(typeof outcomeExample)['masking']> = {
      credentials: 'masked',
      kinds: {},
      flagged: [{ path: 'workspace.diff', code: 'secret_in_file', kinds: ['declared_secret'] }],
    };
    const page = pageOf({ outcome: { ...outcomeExample, masking } }, fileOf(['password = "hunter2-hunter2"']));
    expect(page.data.diff.absent).toContain('contains a declared secret');
    expect(page.data.diff.files).toMatchObject([{ path: 'src/total.ts', hunks: [] }]);
    expect([...htmlPage(page)].join('')).not.toContain('hunter2');
  });

  test('does not show a name that the work tree status masks', () => {
    const { diff } = pageOf({}, fileOf(['x'], 'key-hunter2.txt')).data;
    expect(diff.files.map(({ path }) => path)).toEqual(['[masked]']);
  });

  test('is cut by lines, by files and by bytes, and says so', () => {
    const long = pageOf({}, fileOf(Array.from({ length: 5_000 }, (_, index) => `line ${index}`))).data.diff;
    expect(long.files[0]).toMatchObject({ added: 5_000, linesCut: 3_000 });
    expect(long.cut).toContain('workspace.diff');
    const wide = pageOf({}, fileOf(['x'.repeat(1024 * 1024), 'short'])).data.diff;
    expect(wide.files[0]?.hunks[0]?.lines).toEqual(['+[a line of more than 64 KiB, not shown]', '+short']);
    const many = pageOf({}, Array.from({ length: 400 }, (_, index) => fileOf(['x'], `${index}.txt`)).join('')).data
      .diff;
    expect(many.files).toHaveLength(300);
    expect(many.total).toBe(400);
  });
});

test('puts hostile text of every field into the page as data only', () => {
  const listed = [{ path: HOSTILE, change: 'add', bytes: 1, mode: '100644' }] as const;
  const { workspace, policy } = pageInput(temporaryFolder());
  const page = pageOf({
    finalText: HOSTILE,
    request: { rendered_task_text: HOSTILE } as AgentPageInput['request'],
    outcome: { ...outcomeExample, agent: { ...outcomeExample.agent, version: HOSTILE, model: HOSTILE } },
    policy: { ...(policy as NonNullable<typeof policy>), enforcement_notes: [HOSTILE] },
    workspace: { ...(workspace as NonNullable<typeof workspace>), changed: { total: 1, listed: [...listed] } },
    needsReview: { total: 1, listed: [{ path: HOSTILE, reason: HOSTILE }] },
    lines: linesFrom([
      { kind: 'message', role: 'assistant', body: { text: HOSTILE } },
      { kind: 'tool_call', call: 'a', tool: HOSTILE, input: { text: HOSTILE } },
      { kind: 'tool_result', call: 'a', ok: true, output: { text: HOSTILE }, exit_code: null },
    ]),
  });
  const html = [...htmlPage(page)].join('');
  expect(html).not.toContain('<img');
  expect(html.match(/<\/script>/g)).toHaveLength(2);
  expect(html).toContain('\\u003c/script>');
});
