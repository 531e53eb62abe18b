import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { resendCase } from '../../src/verbs/resend.ts';
import { resumeSuite } from '../../src/verbs/resume-suite.ts';
import { runSuite } from '../../src/verbs/run-suite.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { repositoryFolder } from '../../stand-ins/place.ts';
import { proctor, temporaryFolder } from '../support/support.ts';
import { asked, bin, environment, placeAgents, requestIn, saying } from '../run/suite/agent-world.ts';
import { expectValid, ranSuite } from '../run/suite/support.ts';

placeAgents();

const reply = (value: unknown): string => saying(JSON.stringify(value));

describe('an agent as the target of a suite', () => {
  test('answers each case in a separate run whose actions can be judged', async () => {
    const cwd = temporaryFolder();
    const cases = [
      asked('tested', 'Run the tests: DO=tested', {
        contains: 'Done.',
        tool_sequence: ['Bash'],
        max_steps: 1,
        max_cost_usd: 0.01,
        max_latency_ms: 60_000,
      }),
      asked('busy', 'DO=lines:6', { max_steps: 2, max_cost_usd: 0.001 }),
      asked('failing', 'DO=failed_command'),
      asked('proposing', reply(PROPOSAL), { action_required: ['issue_refund'], contains: 'A refund' }),
      asked('json', reply({ total: 3 }), { json_path: [{ path: '$.total', equals: 3 }] }),
    ];
    const dir = repositoryFolder();
    const suite = { agent: 'claude', environment, cwd, dir, timeoutMs: 60_000, concurrency: 2 };
    const { artifact, folder, run, bytes, result } = await ranSuite(cases, suite);
    const [judged] = result.runs;
    expect([judged?.judged?.passed, judged?.notPassed]).toEqual([4, ['busy']]);
    expect(artifact('tested').events).toEqual([
      { type: 'tool_call', ts: expect.any(Number), call_id: 'call_1', tool: 'Bash', args: expect.any(Object) },
      {
        type: 'tool_result',
        ts: expect.any(Number),
        call_id: 'call_1',
        status: 'ok',
        latency_ms: expect.any(Number),
        payload_summary: '12 tests passed\n',
      },
    ]);
    expect(artifact('tested').agent_fields).toMatchObject({ usage: { cost_usd: expect.any(Number), turns: 2 } });
    expect(artifact('failing').events?.[1]).toMatchObject({ type: 'tool_result', status: 'error' });
    expect(artifact('proposing')).toMatchObject({
      proposed_actions: [{ action_type: 'issue_refund' }],
      final_output: { content: 'A refund is proposed.' },
      events: [],
    });
    expect(run.base_url).toBe('agent:claude');
    expect(requestIn({ bytes }).target).toMatchObject({ kind: 'agent', version: '2.1.325', policy: 'read-only' });
    await expectValid(folder);
    const runs = path.join(cwd, '.proctor', 'attempts', 'runs', 'agent');
    const named = cases.map(({ id }) => artifact(id).attempts?.[0]?.run_id);
    expect(new Set(named)).toEqual(new Set(readdirSync(runs)));
    for (const id of readdirSync(runs)) await expectValid(path.join(runs, id));
    await expect(resendCase({ run: folder, caseId: 'tested', cwd })).rejects.toThrow('Run the suite again with --only');
  });

  test('fails like any other target', async () => {
    const cases = [
      asked('broken', 'DO=exit:3'),
      asked('overloaded', 'DO=api_error:529'),
      asked('cut', 'DO=no_result'),
      asked('nothing', ''),
      asked('wrong', reply({ case_id: 'another', final_output: { content_type: 'text', content: 'x' } })),
    ];
    const { artifact, folder } = await ranSuite(cases, {
      agent: 'codex',
      environment,
      timeoutMs: 60_000,
      concurrency: 3,
    });
    const failures = Object.fromEntries(cases.map(({ id }) => [id, artifact(id).runner_failure]));
    expect(failures).toMatchObject({
      broken: { class: 'other', error_name: 'EXIT_NONZERO', url: 'agent:codex' },
      overloaded: { class: 'http_error', status: 529 },
      cut: { class: 'schema_mismatch', error_name: 'INCOMPLETE_STREAM' },
      nothing: { class: 'other', error_message: 'The task is empty. Describe what the agent should do.' },
      wrong: { class: 'schema_mismatch', error_message: 'The answer has the case_id of another case.' },
    });
    await expectValid(folder);
  });

  test('is stopped at its timeout', async () => {
    const { artifact, folder } = await ranSuite([asked('hanging', 'DO=hang')], {
      agent: 'codex',
      environment,
      timeoutMs: 2_000,
    });
    expect(artifact('hanging').runner_failure).toMatchObject({ class: 'timeout' });
    await expectValid(folder);
  });

  test('has large tool results stored in separate files, and the number of its events limited', async () => {
    const { artifact, folder, bytes } = await ranSuite([asked('large', 'DO=tested DO=lines:400')], {
      agent: 'claude',
      environment,
      timeoutMs: 60_000,
      bodyBytesMax: 20_000,
      payloadInlineBytesMax: 10,
    });
    const { events = [], agent_fields } = artifact('large');
    const [, result] = events;
    expect(result).toMatchObject({ type: 'tool_result', payload_asset_href: 'assets/large.event-1.payload_summary' });
    expect(bytes('assets/large.event-1.payload_summary').toString()).toBe('12 tests passed\n');
    expect(events.length + Number(agent_fields?.['events_left_out'])).toBe(402);
    expect(events.length).toBeGreaterThan(20);
    await expectValid(folder);
  });

  test('counts as a different target if its policy or program differs', async () => {
    const targets = [];
    for (const [agent, policy] of [
      ['claude', 'read-only'],
      ['claude', 'edit'],
      ['codex', 'edit'],
    ] as const) {
      const { bytes } = await ranSuite([asked('a', 'DO=say')], { agent, policy, environment, timeoutMs: 60_000 });
      targets.push(requestIn({ bytes }).target_sha256);
    }
    expect(new Set(targets).size).toBe(3);
  });
});

describe('a target that cannot run', () => {
  test.each<[string, object, RegExp]>([
    ['an unknown agent', { agent: 'claud' }, /Unknown agent "claud"\. Did you mean/],
    [
      'an agent that is not installed',
      { agent: 'claude', environment: { ...environment, PATH: '/nowhere' } },
      /claude is not on the PATH/,
    ],
    ['an agent without a model key', { agent: 'codex', environment: { PATH: bin } }, /OPENAI_API_KEY is not set/],
    ['an agent and a script', { agent: 'claude', script: 'a.py' }, /only one target/],
    ['an agent with script limits', { agent: 'claude', bounds: { memoryBytes: 1e9 } }, /in its policy/],
    ['an agent with an invalid policy', { agent: 'claude', policy: 'lenient' }, /no such agent policy/],
    ['a policy without an agent', { baseUrl: 'http://127.0.0.1:9', policy: 'edit' }, /require an agent/],
  ])('is refused before anything is created: %s', async (_, options, message) => {
    const cwd = temporaryFolder();
    await expect(ranSuite(['a'], { environment, cwd, ...options })).rejects.toThrow(message);
    expect(readdirSync(cwd).filter(name => name !== 'cases.json' && name !== '.proctor')).toEqual([]);
  });

  test('is refused: an agent whose folder has uncommitted changes', async () => {
    const dir = repositoryFolder();
    writeFileSync(path.join(dir, 'README.md'), 'changed');
    await expect(ranSuite(['a'], { agent: 'claude', environment, dir })).rejects.toThrow('uncommitted changes');
  });
});

test('an interrupted suite resumes only with the same agent', async () => {
  const cwd = temporaryFolder();
  const stop = new AbortController();
  const cases = [asked('first', 'DO=say'), asked('second', 'DO=say'), asked('third', 'DO=say')];
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify(cases));
  const { runs } = await runSuite({
    cases: 'cases.json',
    as: 'new',
    agent: 'claude',
    environment,
    cwd,
    runId: 'stopped',
    concurrency: 1,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  expect(runs[0]).toMatchObject({ ok: 1, isOpen: true });
  const other = temporaryFolder();
  writeFileSync(placeAgent('claude', other), '\n// changed\n', { flag: 'a' });
  const going = { cwd, variable: () => undefined };
  const changed = { ...going, environment: { ...environment, PATH: `${other}:${process.env['PATH']}` } };
  await expect(resumeSuite('stopped', changed)).rejects.toThrow('changed since the run started');
  const resumed = await resumeSuite('stopped', { ...going, environment });
  expect(resumed.runs[0]).toMatchObject({ ok: 3, failed: 0, isOpen: false });
});

test('the command line accepts an agent as the target', () => {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'cases.yaml'), '- id: hello\n  input: { user: "DO=tested" }\n');
  const args = ['run', 'suite', 'cases.yaml', '--agent', 'claude', '--policy', 'read-only', '--as', 'baseline'];
  const { code, stderr } = proctor(args, { cwd, env: environment });
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/all answered, nothing judged {2}baseline {2}1 of 1 case/);
  expect(proctor(['show', 'latest'], { cwd }).stdout).toContain('the agent claude 2.1.325, policy read-only, ');
  expect(proctor(['list'], { cwd }).stdout).toContain('agent:claude');
});

const PROPOSAL = {
  final_output: { content_type: 'text', content: 'A refund is proposed.' },
  proposed_actions: [
    {
      action_id: 'a1',
      action_type: 'issue_refund',
      tool_name: 'refunds.create',
      params: {},
      risk_level: 'low',
      risk_tags: [],
      evidence_refs: [],
    },
  ],
  events: [{ type: 'tool_call', ts: 1, call_id: 'invented', tool: 'orders.get', args: {} }],
};
