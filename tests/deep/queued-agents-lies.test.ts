/** What workers and conductors believe of each other's agents: made-up requests, and runs that are not the one asked for. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { repositoryFolder } from '../../stand-ins/place.ts';
import { newKeyPair, privateKeyIn } from '../../src/base/ed25519.ts';
import { bytesHash, contentHash, type ContentHash } from '../../src/base/hash.ts';
import { builtInPolicies } from '../../src/contracts/agent-policy/index.ts';
import type { AttemptQuestion } from '../../src/contracts/attempt-request/index.ts';
import { signerWith } from '../../src/contracts/seal/index.ts';
import type { SuiteTarget } from '../../src/contracts/suite/index.ts';
import { treeBundle } from '../../src/execute/worktree/tree-bundle.ts';
import { attemptReport, type Reporter } from '../../src/run/suite/attempt-report.ts';
import { readQuestion } from '../../src/run/suite/attempt-question.ts';
import type { Answered, AttemptResult, PackedAttempt } from '../../src/run/suite/target.ts';
import { FolderStore } from '../../src/store/folder.ts';
import { packRun } from '../../src/verbs/pack.ts';
import { runAgent, type RunAgentOptions } from '../../src/verbs/run-agent.ts';
import { documentBlob } from '../../src/verbs/sent-agents.ts';
import { workerAgent } from '../../src/verbs/worker-agents.ts';
import { temporaryFolder } from '../support/support.ts';
import { asked, environment, placeAgents, saying } from '../run/suite/agent-world.ts';
import { testReporter } from '../run/suite/queue-world.ts';
import { agentSuite } from '../run/suite/queued-agents-world.ts';

placeAgents();

const TASK = `Say it: ${saying('fine')}`;
type AgentTarget = Extract<SuiteTarget, { kind: 'agent' }>;
type World = ReturnType<typeof agentSuite>;

/** Claims the attempt that a conductor offers. */
async function claimed({ queue, store }: World) {
  const waiting = async () => (await queue.overview()).needs.find(row => row.waiting > 0)?.needs;
  await expect.poll(waiting, { timeout: 60_000 }).toBeDefined();
  const needs = [(await waiting()) ?? ''];
  const offer = { worker: 'liar', needs, slots: 1, version: '0', protocols: [1] };
  const [claim] = await queue.claim(offer, 1, { waitMs: 20_000 });
  if (!claim) throw new Error('nothing was offered');
  const blobs = new FolderStore(store);
  return { claim, blobs, question: await readQuestion(claim.request.ask, blobs) };
}

/** A worker that makes up what it reports. It has a key of its own, with which it also signs runs. */
class LyingWorker {
  readonly cwd = temporaryFolder();
  readonly reporter: Reporter;
  readonly #keyFile = path.join(this.cwd, 'worker.key');

  constructor() {
    const { privatePem } = newKeyPair();
    writeFileSync(this.#keyFile, privatePem, { mode: 0o600 });
    const key = privateKeyIn(privatePem);
    if (!key) throw new Error('no key');
    this.reporter = { ...testReporter(), signer: signerWith(key) };
  }

  /** Runs an agent as the attempt asks for, except for what `over` changes, and packs the run. */
  async made(
    question: AttemptQuestion,
    over: Partial<RunAgentOptions> = {},
    keepsJudgement = false,
  ): Promise<PackedAttempt> {
    const { target, agent, settings } = question;
    if (target.kind !== 'agent' || !agent) throw new Error('no agent');
    const repository = path.join(this.cwd, 'tree.bundle');
    const pieces = await this.blobs?.get(agent.tree.sha256 as ContentHash);
    const chunks: Uint8Array[] = [];
    for await (const piece of pieces ?? []) chunks.push(piece);
    writeFileSync(repository, Buffer.concat(chunks));
    const run = await runAgent({
      agent: target.name,
      task: (question.case['input'] as { user: string }).user,
      repository,
      policy: target.policy,
      ...(target.model !== undefined && { model: target.model }),
      timeoutMs: settings.timeout_ms,
      idleMs: settings.idle_timeout_ms ?? 0,
      environment,
      cwd: this.cwd,
      signingKey: this.#keyFile,
      ...over,
    });
    if (!keepsJudgement)
      for (const name of ['evaluation.json', 'evaluation.seal.json']) rmSync(path.join(run.folder, name));
    const { file } = await packRun(run.folder, { cwd: this.cwd });
    const bytes = readFileSync(file);
    const seal = readFileSync(path.join(run.folder, 'evidence', 'seal.json'));
    return {
      id: run.runId,
      sealSha256: bytesHash(seal),
      pack: { sha256: bytesHash(bytes), bytes: bytes.length },
      read: () => Readable.from([bytes]),
      remove: () => undefined,
    };
  }

  blobs: FolderStore | undefined;
}

const OK: Answered = { ok: true, reply: {} as Answered['reply'], masked: {}, bytes: 1, repairs: {} };

type Lie = (question: AttemptQuestion, worker: LyingWorker) => Promise<AttemptResult>;

const sending = (packed: PackedAttempt, over: Partial<AttemptResult> = {}): AttemptResult => ({
  latencyMs: 5,
  outcome: OK,
  packed,
  ...over,
});

/** What becomes of a case whose attempt a lying worker reports. */
async function lied(lie: Lie, asking: object = asked('a', TASK)) {
  const world = agentSuite([asking]);
  const running = world.run({ lost: 'never', model: 'claude-test-1' });
  running.catch(() => undefined);
  const { claim, blobs, question } = await claimed(world);
  const worker = new LyingWorker();
  worker.blobs = blobs;
  const made = { startedAtMs: 1_000, endedAtMs: 2_000, result: await lie(question, worker) };
  const report = await attemptReport(question, made, { ...worker.reporter, store: blobs });
  await world.queue.settle([{ claim, end: { is: 'reported', report } }]);
  await running;
  const { runner_failure, final_output } = world.artifact('a');
  const kept = existsSync(world.attempts) ? readdirSync(world.attempts) : [];
  return { failure: runner_failure, answer: final_output?.content, kept };
}

/** A folder for PATH with an agent of other bytes. */
function otherProgram(): string {
  const bin = temporaryFolder();
  writeFileSync(placeAgent('claude', bin), '\n', { flag: 'a' });
  return `${bin}:${process.env['PATH']}`;
}

describe('a run from a worker that lies', () => {
  test('counts if it is the one that was asked for', async () => {
    const { answer, kept, failure } = await lied(async (question, worker) => sending(await worker.made(question)));
    expect(failure).toBeUndefined();
    expect(answer).toBe('fine');
    expect(kept).toHaveLength(1);
  });

  const runs: readonly (readonly [what: string, why: RegExp, over: () => Partial<RunAgentOptions>])[] = [
    ['of another agent', /its run is that of another agent/, () => ({ agent: 'codex' })],
    [
      'of another version',
      /its run is that of another version of the agent/,
      () => ({ environment: { ...environment, PATH: otherProgram() } }),
    ],
    ['of another case', /its run had another task/, () => ({ task: `${TASK} twice` })],
    [
      'from another tree',
      /its run started from another tree/,
      () => ({ repository: repositoryFolder({ 'README.md': 'An easier project.\n' }) }),
    ],
    [
      'with more files',
      /its run started from another tree/,
      () => {
        const files = temporaryFolder();
        writeFileSync(path.join(files, 'answer.txt'), '42\n');
        return { files };
      },
    ],
    ['after a setup', /its run started from another tree/, () => ({ setup: { command: 'true' } })],
    ['under another policy', /its run had another policy/, () => ({ policy: 'edit' })],
    [
      'under a policy that it tightened',
      /its run had another policy/,
      () => ({ overrides: { forbidden_paths: ['secret'] } }),
    ],
    ['with more time', /its run had other limits/, () => ({ timeoutMs: 599_000 })],
    ['with a budget', /its run had other limits/, () => ({ maxRequests: 3 })],
    ['with a turn limit', /its run had other limits/, () => ({ maxTurns: 3 })],
    ['with another model', /its run asked another model/, () => ({ model: 'cheaper-model' })],
    ['with a check', /its run had other checks/, () => ({ checks: [{ command: 'true' }] })],
    ['with a reference', /its run had other folders or references/, () => ({ promptReference: 'mine@1' })],
    [
      'with a mount',
      /its run had other folders or references/,
      () => {
        const dir = temporaryFolder();
        writeFileSync(path.join(dir, 'answer.txt'), '42\n');
        return { mounts: [{ dir, path: 'given' }] };
      },
    ],
    ['without a model', /its run asked no live model/, () => ({ environment: { PATH: environment.PATH } })],
  ];
  test.each(runs)('is refused: a run %s', async (_, why, over) => {
    const { failure, kept } = await lied(async (question, worker) => sending(await worker.made(question, over())));
    expect(failure).toMatchObject({ class: 'other', error_name: 'OUTCOME_REFUSED' });
    expect(failure?.error_message).toMatch(why);
    expect(kept).toEqual([]);
  });

  test('is refused: a run with an easier check', async () => {
    const checks = [{ name: 'tests', command: 'test -e hello.txt' }];
    const asking = Object.assign(asked('a', TASK), { checks });
    const honest = await lied(async (question, worker) => sending(await worker.made(question, { checks })), asking);
    expect(honest).toMatchObject({ failure: undefined, answer: 'fine' });
    const easier: RunAgentOptions['checks'][] = [
      [{ name: 'tests', command: 'true' }],
      [{ name: 'tests', command: 'test -e hello.txt', timeoutMs: 1_000 }],
      [],
    ];
    for (const other of easier) {
      const over = { checks: other ?? [] };
      const { failure } = await lied(async (question, worker) => sending(await worker.made(question, over)), asking);
      expect(failure?.error_message).toMatch(/its run had other checks/);
    }
  });

  const claims: readonly (readonly [what: string, why: RegExp, lie: Lie])[] = [
    [
      'signed by another key',
      /its run does not verify: .*key/,
      async (question, { blobs }) => sending(await Object.assign(new LyingWorker(), { blobs }).made(question)),
    ],
    [
      'with a wrong claim about its answer',
      /its answer differs from the files of its run/,
      async (question, worker) =>
        sending(await worker.made(question), {
          outcome: { ok: false, class: 'timeout', message: 'It timed out.', mayRetry: true },
        }),
    ],
    [
      'with a wrong status',
      /its answer differs from the files of its run/,
      async (question, worker) => sending(await worker.made(question), { httpStatus: 529 }),
    ],
    [
      'with an evaluation of its own',
      /its run has evaluation\.json, which a new run does not have/,
      async (question, worker) => sending(await worker.made(question, {}, true)),
    ],
    [
      'that names another seal',
      /its run is another one than the worker signed/,
      async (question, worker) => sending({ ...(await worker.made(question)), sealSha256: bytesHash('another') }),
    ],
    [
      'of a script',
      /the id of its run is not valid/,
      async (question, worker) =>
        sending({ ...(await worker.made(question)), id: 'script_20260101_000000_0123456789ab' }),
    ],
    [
      'whose pack is too large',
      /its run is larger than the limit/,
      async () => {
        const bytes = Buffer.alloc(64 * 1024 ** 2 + 1);
        const pack = { sha256: bytesHash(bytes), bytes: bytes.length };
        const id = 'agent_20260101_000000_0123456789ab';
        return sending({ id, sealSha256: bytesHash(''), pack, read: () => Readable.from([bytes]), remove: () => {} });
      },
    ],
    [
      'that is not there',
      /it has no run/,
      async () => ({
        latencyMs: 5,
        outcome: { ok: false, class: 'timeout', message: 'It timed out.', mayRetry: false },
      }),
    ],
  ];
  test.each(claims)('is refused: a run %s', async (_, why, lie) => {
    const { failure, kept } = await lied(lie);
    expect(failure).toMatchObject({ class: 'other', error_name: 'OUTCOME_REFUSED' });
    expect(failure?.error_message).toMatch(why);
    expect(kept).toEqual([]);
  });
});

describe('a request that somebody wrote into the queue', () => {
  /** A request as a conductor writes it. */
  async function honest() {
    const world = agentSuite([asked('a', TASK)]);
    const stop = new AbortController();
    const running = world.run({ signal: stop.signal });
    running.catch(() => undefined);
    const { question, blobs } = await claimed(world);
    stop.abort();
    await running.catch(() => undefined);
    const home = temporaryFolder();
    const worker = { allowed: ['claude'], store: blobs, home, signer: testReporter().signer, environment };
    return { question, blobs, worker, home };
  }
  type Honest = Awaited<ReturnType<typeof honest>>;

  /** The request with another target, and its right hash. */
  const withTarget = (question: AttemptQuestion, over: Partial<AgentTarget>): AttemptQuestion => {
    const target = { ...question.target, ...over } as AgentTarget;
    return { ...question, target, target_sha256: contentHash(target) };
  };
  const withTree = (question: AttemptQuestion, over: object): AttemptQuestion => ({
    ...question,
    agent: { tree: { ...question.agent?.tree, ...over } as NonNullable<AttemptQuestion['agent']>['tree'] },
  });
  const put = async ({ blobs }: Honest, bytes: Buffer): Promise<ContentHash> => {
    await blobs.put(bytesHash(bytes), Readable.from([bytes]), bytes.length);
    return bytesHash(bytes);
  };

  const requests: readonly (readonly [what: string, why: RegExp, lie: (one: Honest) => Promise<AttemptQuestion>])[] = [
    [
      'for an agent that the worker does not allow',
      /may not run this agent\. Allow it with --allow-agent/,
      async ({ question }) => withTarget(question, { name: 'codex' }),
    ],
    [
      'for another version',
      /has another version of claude/,
      async ({ question }) => withTarget(question, { version: '9.9.9' }),
    ],
    [
      'for another program',
      /has another version of claude/,
      async ({ question }) => withTarget(question, { sha256: bytesHash('another') }),
    ],
    [
      'with a policy that opens the network',
      /opens the network/,
      async one => {
        const policy = documentBlob({ ...builtInPolicies.open, schema_version: 'agent-policy.v1' });
        return withTarget(one.question, { policy: 'open', policy_sha256: await put(one, policy) });
      },
    ],
    [
      'with a policy under another name',
      /asks for another policy or other limits/,
      async ({ question }) => withTarget(question, { policy: 'edit' }),
    ],
    [
      'with a policy that is none',
      /agent policy/,
      async one => withTarget(one.question, { policy_sha256: await put(one, Buffer.from('{"name":"x","oops":1}\n')) }),
    ],
    [
      'with a policy of 100 MiB',
      /The store has other bytes than the policy/,
      async one => withTarget(one.question, { policy_sha256: await put(one, Buffer.alloc(100 * 1024 ** 2)) }),
    ],
    [
      'with a policy that is not there',
      /The policy is not in the store/,
      async ({ question }) => withTarget(question, { policy_sha256: bytesHash('nowhere') }),
    ],
    [
      'with a tree of another size',
      /The store has other bytes than the tree/,
      async ({ question }) => withTree(question, { bytes: (question.agent?.tree.bytes ?? 0) - 1 }),
    ],
    [
      'with a tree that is no bundle',
      /The bundle cannot be used/,
      async one => withTree(one.question, { sha256: await put(one, Buffer.from('# no bundle')), bytes: 11 }),
    ],
    [
      'with a tree at another commit',
      /at another commit than the suite names/,
      async one => {
        const { bytes } = await treeBundle(repositoryFolder({ 'a.txt': 'other\n' }), undefined, 1024 ** 2);
        return withTree(one.question, { sha256: await put(one, bytes), bytes: bytes.length });
      },
    ],
    [
      'for an untested version',
      /asks for another policy or other limits/,
      async ({ question }) => withTarget(question, { allow_untested_version: true }),
    ],
  ];
  test.each(requests)('is handed back: one %s', async (_, why, lie) => {
    const one = await honest();
    await expect(workerAgent(await lie(one), one.worker)).rejects.toThrow(why);
    const agents = path.join(one.home, 'agents');
    expect(existsSync(agents) ? readdirSync(agents) : []).toEqual([]);
  });

  const broken: readonly (readonly [what: string, over: (question: AttemptQuestion) => object])[] = [
    ['without a tree', question => ({ ...question, agent: undefined })],
    ['with an unknown key', question => withTree(question, { path: '/etc' })],
    ['with a tree above 64 MiB', question => withTree(question, { bytes: 64 * 1024 ** 2 + 1 })],
    ['with a recording', question => withTarget(question, { model_mode: 'replay' })],
    ['with more files', question => ({ ...question, case: { ...question.case, files: 'seed' } })],
    [
      'with hidden files',
      question => ({ ...question, case: { ...question.case, checks: [{ command: 'x', overlay: '../..' }] } }),
    ],
    ['with checks that are none', question => ({ ...question, case: { ...question.case, checks: [null] } })],
    ['with a mount', question => ({ ...question, case: { ...question.case, mounts: ['../..'] } })],
    ['with a folder', question => ({ ...question, case: { ...question.case, dir: '..' } })],
    ['with a secret', question => ({ ...question, secret_names: ['TOKEN'] })],
    ['with the target of an API', question => ({ ...question, target: { kind: 'http' } })],
  ];
  test('breaks a rule before a worker acts on it', async () => {
    const { question } = await honest();
    await expect(readQuestion(JSON.stringify(question), undefined)).resolves.toBeDefined();
    for (const [what, over] of broken)
      await expect(readQuestion(JSON.stringify(over(question)), undefined), what).rejects.toThrow(/breaks a rule/);
  });
});
