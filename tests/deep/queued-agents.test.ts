/** Suites of agents that workers run: real sandboxes, stand-ins for the agents, and a queue in memory. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { gitIn } from '../../stand-ins/git.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { repositoryFolder } from '../../stand-ins/place.ts';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { RunSuiteOptions } from '../../src/verbs/run-suite.ts';
import { asked, environment, placeAgents, saying } from '../run/suite/agent-world.ts';
import { agentSuite } from '../run/suite/queued-agents-world.ts';
import { expectValid } from '../run/suite/support.ts';
import { temporaryFolder } from '../support/support.ts';

placeAgents();

const reply = (value: unknown): string => saying(JSON.stringify(value));

const NAMELESS = { run_id: '', seal_sha256: '' };

/** The events of a case, without their times. */
function timeless({ events = [] }: CaseArtifact): unknown[] {
  return events.map(event => Object.entries(event).filter(([key]) => key !== 'ts' && key !== 'latency_ms'));
}

/** Runs the same suite on a worker and in one process, and compares everything that does not depend on the time. */
async function expectSame(cases: readonly (object & { readonly id: string })[], over: Partial<RunSuiteOptions> = {}) {
  const suite = agentSuite(cases);
  suite.worker();
  const queued = await suite.run(over);
  const sent = suite.sentRuns();
  const alone = await suite.alone(over);
  expect(queued.runs[0]?.judged).toEqual(alone.result.runs[0]?.judged);
  for (const { id } of cases) {
    const [there, here] = [suite.artifact(id), alone.artifact(id)];
    expect(there.final_output, id).toEqual(here.final_output);
    expect({ ...there.runner_failure, latency_ms: 0 }, id).toEqual({ ...here.runner_failure, latency_ms: 0 });
    expect(timeless(there), id).toEqual(timeless(here));
    expect({ ...there.agent_run, ...NAMELESS }, id).toEqual({ ...here.agent_run, ...NAMELESS });
  }
  await expectValid(suite.folder);
  for (const folder of sent) await expectValid(folder);
  return { suite, sent };
}

describe('a suite whose agents run on workers', () => {
  test('has the answers and verdicts of the same suite in one process', async () => {
    const { sent } = await expectSame(
      [
        asked('tested', 'Run the tests: DO=tested', { contains: 'Done.', tool_sequence: ['Bash'] }),
        asked('failing', 'DO=failed_command', { contains: 'never said' }),
        asked('json', reply({ total: 3 }), { json_path: [{ path: '$.total', equals: 3 }] }),
        asked('broken', 'DO=exit:3'),
        asked('nothing', ''),
        asked('credential', `Log in with ghp_${'a1'.repeat(18)}: DO=tested`),
        asked('overloaded', 'DO=api_error:529'),
      ],
      { retries: 0 },
    );
    // The agent of the empty task did not start.
    expect(sent).toHaveLength(6);
  });

  test('sees what the agents changed, and what they claim', async () => {
    const limits = { max_turns: 7, timeout: '2m' };
    const { suite } = await expectSame(
      [
        Object.assign(asked('wrote', 'DO=write', { changed_only: ['hello.txt'] }), { limits }),
        asked('denied', `DO=deny ${saying('wrote hello.txt')}`),
        asked('claims', 'DO=claim_tests', { no_flags: true }),
        Object.assign(asked('checked', 'DO=write'), {
          checks: [
            { name: 'wrote', command: 'test -e hello.txt', timeout: '20s', paths: ['hello.txt'] },
            { name: 'never', command: 'grep -q nothing README.md' },
          ],
        }),
        asked('rewritten', 'DO=rewrite'),
      ],
      { policy: 'edit', maxRequests: 50 },
    );
    expect(suite.artifact('wrote').agent_run?.changes?.files.total).toBe(1);
    const checks = suite.artifact('checked').agent_run?.checks;
    expect(checks?.map(({ name, verdict }) => [name, verdict])).toEqual([
      ['wrote', 'passed'],
      ['never', 'failed'],
    ]);
    expect(suite.artifact('rewritten').agent_run?.termination).toBe('killed_policy');
  });

  test('runs Codex too, each agent with the key of its own model', async () => {
    const { sent } = await expectSame([asked('tested', 'DO=tested'), asked('wrote', 'DO=write')], {
      agent: 'codex',
      policy: 'edit',
      model: 'gpt-test-1',
    });
    expect(sent).toHaveLength(2);
  });

  test('starts at the base that the suite names, and uses its own policy and prices', async () => {
    const suite = agentSuite([asked('a', 'DO=write')]);
    const commit = gitIn(suite.dir, 'rev-parse', 'HEAD').trim();
    writeFileSync(path.join(suite.dir, 'later.txt'), 'later\n');
    gitIn(suite.dir, 'add', '--all');
    gitIn(suite.dir, 'commit', '-q', '-m', 'Two');
    const policy = path.join(suite.cwd, 'mine.yaml');
    const limits = 'limits: { memory_bytes: 2147483648, pids: 200, max_turns: 9, tool_idle_timeout_ms: 60000 }';
    writeFileSync(policy, `name: mine\nextends: edit\nallowed_paths: ["hello.txt"]\n${limits}\n`);
    const prices = path.join(suite.cwd, 'prices.yaml');
    writeFileSync(prices, 'models: { "*": { input: 5, output: 25 } }\n');
    suite.worker();
    const { runs } = await suite.run({ base: 'HEAD~1', policy, prices, maxCostUsd: 3 });
    expect(suite.artifact('a').runner_failure).toBeUndefined();
    expect(runs[0]?.judged?.passed).toBe(1);
    const [run = ''] = suite.sentRuns();
    const status = await import(path.join(run, 'evidence/outcome.json'), { with: { type: 'json' } });
    expect((status.default as { base: object }).base).toMatchObject({ kind: 'bundle', commit, base_commit: commit });
  });
});

test('a folder that is lost is made again from the outcomes in the queue', async () => {
  const suite = agentSuite([asked('a', 'DO=tested'), asked('b', 'DO=write')]);
  const worker = suite.worker();
  await suite.run({ policy: 'edit' });
  const sent = suite.sentRuns().map(folder => path.basename(folder));
  const first = suite.artifact('b').agent_run;
  rmSync(path.join(suite.cwd, '.proctor'), { recursive: true });
  const settled = worker.events.length;
  await suite.run({ policy: 'edit', workerKeys: [worker.keyFile] });
  expect(worker.events).toHaveLength(settled);
  expect(suite.artifact('b').agent_run).toEqual(first);
  expect(suite.sentRuns().map(folder => path.basename(folder))).toEqual(sent);
  await expectValid(suite.folder);
});

describe('before anything is offered', () => {
  const named = (over: object) => [{ ...asked('a', 'DO=say'), ...over }];
  const refused: readonly (readonly [what: string, over: Partial<RunSuiteOptions>, cases: object[], why: RegExp])[] = [
    ['a recording', { modelMode: 'replay', recordings: 'r' }, named({}), /cannot run agents with --model-mode/],
    ['a mount', { mounts: [{ dir: '.' }] }, named({}), /cannot run agents with --mount/],
    ['a check', { checks: [{ command: 'true' }] }, named({}), /cannot run agents with --check/],
    ['an untested version', { allowUntestedVersion: true }, named({}), /cannot run agents with --allow-untested/],
    ['a secret', { secrets: { TOKEN: 'a-secret-value' } }, named({}), /agents get no secrets/],
    ['an open network', { policy: 'open' }, named({}), /only without a network/],
    ['a second worker', { twice: 1 }, named({}), /Attempts of an agent cannot be made twice/],
    ['no store', { store: undefined as never }, named({}), /reach the workers through a store/],
    ['a plain folder', {}, named({}), /not in a git repository\. Commit its files/],
    ['a folder below the top', {}, named({}), /starts at the top of its repository/],
    ['uncommitted changes', {}, named({}), /uncommitted changes in 1 file/],
    ['the files of a case', {}, named({ files: 'seed' }), /Case a has the key files, which workers cannot use/],
    ['the setup of a case', {}, named({ setup: 'npm ci' }), /Case a has the key setup/],
    [
      'hidden files',
      {},
      named({ checks: [{ command: 'true', overlay: 'hidden' }] }),
      /Case a has the key overlay, which workers cannot use/,
    ],
    ['the policy of a case', {}, named({ policy: 'edit' }), /Case a has the key policy/],
    ['the agent of a case', {}, named({ agent: 'codex' }), /Case a has the key agent/],
  ];
  test.each(refused)('is refused: %s', async (what, over, cases, why) => {
    const suite = agentSuite(cases);
    let { dir } = suite;
    if (what === 'a plain folder') dir = temporaryFolder();
    if (what === 'a folder below the top') dir = path.join(repositoryFolder({ 'below/a.txt': 'a\n' }), 'below');
    if (what === 'uncommitted changes') writeFileSync(path.join(dir, 'README.md'), 'Another text.\n');
    await expect(suite.run({ dir, ...over })).rejects.toThrow(why);
    expect(existsSync(suite.folder)).toBe(false);
    expect((await suite.queue.overview()).needs).toEqual([]);
  });
});

describe('a worker', () => {
  test.each([
    [
      'an agent that Proctor does not know',
      { allowAgents: ['claud'] },
      /Unknown agent "claud"\. Did you mean "claude"/,
    ],
    [
      'no key for the model',
      { environment: { PATH: environment.PATH } },
      /None of ANTHROPIC_API_KEY, .* is set, so claude cannot reach a model/,
    ],
    ['no such program', { environment: { ...environment, PATH: '/nowhere' } }, /claude is not on the PATH/],
    ['no store', { store: undefined as never }, /Add --store/],
  ])('does not start with %s', async (_, over, why) => {
    await expect(agentSuite([asked('a', 'DO=say')]).worker(over).ended).rejects.toThrow(why);
  });

  test('gets only attempts for the program that it has', async () => {
    const suite = agentSuite([asked('a', 'DO=say')]);
    const bin = temporaryFolder();
    placeAgent('claude', bin);
    const other = { ...environment, PATH: `${bin}:${process.env['PATH']}` };
    // Other bytes of the same version.
    writeFileSync(path.join(bin, 'claude'), '\n', { flag: 'a' });
    const elsewhere = suite.worker({ environment: other, name: 'elsewhere' });
    const warnings: string[] = [];
    const running = suite.run({ onWarning: sentence => void warnings.push(sentence) });
    await expect.poll(async () => (await suite.queue.overview()).needs.some(row => row.waiting === 1)).toBe(true);
    await expect
      .poll(() => warnings.join(), { timeout: 60_000 })
      .toMatch(/Start one of this release, on a machine with claude 2\.1\.325, with: .* --allow-agent claude/);
    expect(elsewhere.events).toEqual([]);
    suite.worker({ name: 'right' });
    await running;
    expect(suite.artifact('a').attempts).toMatchObject([{ attempt: 1, worker: 'right', outcome: 'ok' }]);
  });

  test('hands back a task that contains the key of its model', async () => {
    const suite = agentSuite([asked('a', 'Say any word: DO=say')]);
    suite.worker({ environment: { ...environment, ANTHROPIC_API_KEY: 'any' } });
    const warnings: string[] = [];
    const stop = new AbortController();
    const onWarning = (sentence: string): void => {
      warnings.push(sentence);
      if (sentence.includes('model key')) stop.abort();
    };
    await suite.run({ onWarning, signal: stop.signal });
    expect(warnings.join()).toMatch(/The case contains the model key of this worker, which it would mask/);
  });

  test('leaves nothing of an agent that was cancelled', async () => {
    const suite = agentSuite([asked('a', 'DO=hang')]);
    const worker = suite.worker();
    const stop = new AbortController();
    const running = suite.run({ signal: stop.signal });
    await expect.poll(() => worker.events.length, { timeout: 60_000 }).toBeGreaterThan(0);
    stop.abort();
    await running;
    await expect.poll(() => worker.events.map(({ is }) => is), { timeout: 60_000 }).toContain('lost');
    worker.stop();
    await worker.ended;
    expect(readdirSync(path.join(worker.cwd, '.proctor', 'workers'))).toEqual([]);
    expect(existsSync(suite.attempts)).toBe(false);
  });
});
