/** What a conductor believes of the runs of a worker that lies: real sandboxes, real packs, and made-up ones. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newKeyPair, privateKeyIn } from '../../src/base/ed25519.ts';
import { bytesHash, type ContentHash } from '../../src/base/hash.ts';
import { TAR_END, tarHead, tarPadding } from '../../src/base/tar.ts';
import type { AttemptQuestion } from '../../src/contracts/attempt-request/index.ts';
import type { SuiteCase } from '../../src/contracts/suite/index.ts';
import { signerWith } from '../../src/contracts/seal/index.ts';
import { attemptReport, type Reporter } from '../../src/run/suite/attempt-report.ts';
import { readQuestion } from '../../src/run/suite/attempt-question.ts';
import type { Answered, AttemptResult, PackedAttempt } from '../../src/run/suite/target.ts';
import { questionOf } from '../../src/targets/kinds/proctor.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { packRun } from '../../src/verbs/pack.ts';
import { runScript } from '../../src/verbs/run-script.ts';
import { FolderStore } from '../../src/store/folder.ts';
import { temporaryFolder } from '../support/support.ts';
import { testReporter } from '../run/suite/queue-world.ts';
import { scriptWorld } from '../run/suite/queued-scripts-world.ts';

afterAll(closeLauncher);

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

  /** Runs a script as the attempt asks for, except for what `over` changes, and packs the run. */
  async made(
    question: AttemptQuestion,
    script: string,
    over: { one?: SuiteCase; timeoutMs?: number; env?: Record<string, string> } = {},
  ): Promise<PackedBytes> {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'agent.py'), script, { mode: 0o755 });
    const { run_id: runId, version, case: one, settings } = question;
    writeFileSync(path.join(folder, 'case.json'), questionOf(over.one ?? (one as SuiteCase), version, runId));
    const run = await runScript({
      script: path.join(folder, 'agent.py'),
      inputs: [path.join(folder, 'case.json')],
      env: over.env ?? { PROCTOR_IDEMPOTENCY_KEY: question.key },
      sandbox: 'process',
      ...(question.script?.requested.isolation && { isolation: question.script.requested.isolation }),
      timeoutMs: over.timeoutMs ?? settings.timeout_ms,
      cwd: folder,
      signingKey: this.#keyFile,
    });
    const { file } = await packRun(run.folder, { cwd: folder });
    return packedAs(
      run.runId,
      readFileSync(file),
      bytesHash(readFileSync(path.join(run.folder, 'evidence', 'seal.json'))),
    );
  }
}

type PackedBytes = PackedAttempt & { readonly bytes: Buffer };

function packedAs(id: string, bytes: Buffer, sealSha256: ContentHash): PackedBytes {
  async function* read() {
    yield bytes;
  }
  return {
    id,
    sealSha256,
    pack: { sha256: bytesHash(bytes), bytes: bytes.length },
    read,
    bytes,
    remove: () => undefined,
  };
}

const ANSWER = `
import json
case = json.load(open("input/case.json"))["case_id"]
print(json.dumps({"case_id": case, "version": "new", "final_output": {"content_type": "text", "content": "fine"}}))
`;

const OK: Answered = {
  ok: true,
  reply: {} as Answered['reply'],
  masked: {},
  bytes: 1,
  repairs: {},
};

type Lie = (question: AttemptQuestion, worker: LyingWorker) => Promise<AttemptResult>;

/** Claims an attempt, and reports what `lie` says about it. */
async function reportOne(
  world: ReturnType<typeof scriptWorld>,
  worker: LyingWorker,
  lie: Lie,
  beforeSettling: () => void = () => undefined,
): Promise<void> {
  const needs = ['script/process/strict', 'script/process/standard'];
  const offer = { worker: 'liar', needs, slots: 1, version: '0', protocols: [1] };
  const [claim] = await world.queue.claim(offer, 1, { waitMs: 20_000 });
  if (!claim) throw new Error('nothing was offered');
  const store = new FolderStore(world.store);
  const question = await readQuestion(claim.request.ask, store);
  const made = { startedAtMs: 1_000, endedAtMs: 2_000, result: await lie(question, worker) };
  const report = await attemptReport(question, made, { ...worker.reporter, store });
  beforeSettling();
  await world.queue.settle([{ claim, end: { is: 'reported', report } }]);
}

/** What becomes of a case whose attempt a lying worker reports. */
async function lied(lie: Lie, world = scriptWorld(['a'], { script: ANSWER }), beforeSettling?: () => void) {
  const running = world.run({ lost: 'never' });
  running.catch(() => undefined);
  await reportOne(world, new LyingWorker(), lie, beforeSettling);
  await running;
  const { runner_failure, final_output } = world.artifact('a');
  const kept = existsSync(world.attempts) ? readdirSync(world.attempts) : [];
  return { failure: runner_failure, answer: final_output?.content, kept, world };
}

const sending = (packed: PackedAttempt, over: Partial<AttemptResult> = {}): AttemptResult => ({
  latencyMs: 5,
  outcome: OK,
  packed,
  ...over,
});

describe('a run from a worker that lies', () => {
  test('counts if it is the one that was asked for', async () => {
    const { answer, kept } = await lied(async (question, worker) => sending(await worker.made(question, ANSWER)));
    expect(answer).toBe('fine');
    expect(kept).toHaveLength(1);
  });

  const refused: readonly (readonly [what: string, why: RegExp, lie: Lie])[] = [
    [
      'of another script',
      /its run is that of another script/,
      async (question, worker) => sending(await worker.made(question, `${ANSWER}\n`)),
    ],
    [
      'of another case',
      /its run is that of another case/,
      async (question, worker) =>
        sending(await worker.made(question, ANSWER, { one: { id: 'a', input: { user: 'easier' } } as SuiteCase })),
    ],
    [
      'with more time',
      /its run had other arguments, variables or limits/,
      async (question, worker) => sending(await worker.made(question, ANSWER, { timeoutMs: 599_000 })),
    ],
    [
      'with more variables',
      /its run had other arguments, variables or limits/,
      async (question, worker) =>
        sending(await worker.made(question, ANSWER, { env: { PROCTOR_IDEMPOTENCY_KEY: 'x', ANSWER: 'fine' } })),
    ],
    [
      'signed by another key',
      /its run does not verify: .*key/,
      async question => sending(await new LyingWorker().made(question, ANSWER)),
    ],
    [
      'with a wrong claim about its answer',
      /its answer differs from the files of its run/,
      async (question, worker) =>
        sending(await worker.made(question, ANSWER), {
          outcome: { ok: false, class: 'timeout', message: 'The script timed out.', mayRetry: true },
        }),
    ],
    [
      'that names another seal',
      /its run is another one than the worker signed/,
      async (question, worker) =>
        sending({ ...(await worker.made(question, ANSWER)), sealSha256: bytesHash('another') }),
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
  test.each(refused)('is refused: a run %s', async (_, why, lie) => {
    const { failure, kept } = await lied(lie);
    expect(failure).toMatchObject({ class: 'other', error_name: 'OUTCOME_REFUSED' });
    expect(failure?.error_message).toMatch(why);
    expect(kept).toEqual([]);
  });
});

/** An archive with these entries. */
function tar(entries: Iterable<readonly [name: string, text: string]>): Buffer {
  const pieces: Buffer[] = [];
  for (const [name, text] of entries) {
    const bytes = Buffer.from(text);
    pieces.push(tarHead(name, bytes.length), bytes, Buffer.alloc(tarPadding(bytes.length)));
  }
  return Buffer.concat([...pieces, TAR_END]);
}

function link(name: string): Buffer {
  const head = Buffer.from(tarHead(name, 0));
  head.write('2', 156, 'latin1');
  head.write('/etc/passwd', 157, 'latin1');
  head.fill(' ', 148, 156);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([head, TAR_END]);
}

describe('a pack that a worker made up', () => {
  const ID = 'script_20260101_000000_0123456789ab';
  const packs: readonly (readonly [what: string, why: RegExp, id: string, bytes: () => Buffer])[] = [
    ['with a path that climbs out', /does not verify/, ID, () => tar([['folder/../../../evil', 'x']])],
    ['with an absolute path', /does not verify/, ID, () => tar([['/tmp/evil', 'x']])],
    ['with a link', /does not verify/, ID, () => link('folder/evil')],
    ['that is not an archive', /does not verify/, ID, () => Buffer.from('hello')],
    ['that is empty', /does not verify/, ID, () => Buffer.alloc(0)],
    [
      'with 100,000 files',
      /more files than its limits allow/,
      ID,
      () =>
        tar(Array.from({ length: 100_000 }, (_, index) => [`folder/${String(index).padStart(6, '0')}`, ''] as const)),
    ],
    ['larger than the limit', /its run is larger than the limit/, ID, () => Buffer.alloc(64 * 1024 ** 2 + 1)],
    ['of a run whose id is a path', /the id of its run is not valid/, '..script', () => Buffer.from('x')],
    [
      'of a run of another kind',
      /the id of its run is not valid/,
      'agent_20260101_000000_0123456789ab',
      () => Buffer.from('x'),
    ],
  ];
  test.each(packs)('is refused: one %s', async (_, why, id, bytes) => {
    const { failure, kept, world } = await lied(async () => sending(packedAs(id, bytes(), bytesHash('seal'))));
    expect(failure).toMatchObject({ class: 'other', error_name: 'OUTCOME_REFUSED' });
    expect(failure?.error_message).toMatch(why);
    expect(kept).toEqual([]);
    expect(readdirSync(world.cwd).sort()).toEqual(['.proctor', 'agent.py', 'cases.jsonl']);
  });

  test('is refused: one whose bytes were exchanged in the store', async () => {
    const world = scriptWorld(['a'], { script: ANSWER });
    const packs: PackedBytes[] = [];
    const { failure, kept } = await lied(
      async (question, worker) => {
        packs.push(await worker.made(question, ANSWER), await worker.made(question, ANSWER));
        return sending(packs[0] as PackedBytes);
      },
      world,
      () => {
        const [signed, other] = packs as [PackedBytes, PackedBytes];
        const name = signed.pack.sha256.slice('sha256:'.length);
        writeFileSync(path.join(world.store, name.slice(0, 2), name), other.bytes);
      },
    );
    expect(failure?.error_message).toMatch(/its run has other bytes than the worker signed/);
    expect(kept).toEqual([]);
  });
});

describe('a run id', () => {
  test('cannot replace a run of this machine', async () => {
    const world = scriptWorld(['a'], { script: ANSWER });
    const { failure } = await lied(async (question, worker) => {
      const packed = await worker.made(question, ANSWER);
      mkdirSync(path.join(world.attempts, packed.id), { recursive: true });
      writeFileSync(path.join(world.attempts, packed.id, 'mine'), 'x');
      return sending(packed);
    }, world);
    expect(failure?.error_message).toMatch(/the id of its run is already in use/);
    expect(world.sentRuns().map(folder => readdirSync(folder))).toEqual([['mine']]);
  });

  test('cannot answer a second attempt', async () => {
    const slow = 'import time\ntime.sleep(30)\n';
    const world = scriptWorld(['a'], { script: slow });
    const worker = new LyingWorker();
    const running = world.run({ timeoutMs: 1_000, retries: 1 });
    running.catch(() => undefined);
    let packed: PackedAttempt | undefined;
    for (const attempt of [1, 2]) {
      await reportOne(world, worker, async question => {
        expect(question.attempt).toBe(attempt);
        packed ??= await worker.made(question, slow);
        const outcome = { ok: false, class: 'timeout', message: 'The script timed out.', mayRetry: true } as const;
        return sending(packed, { outcome });
      });
    }
    await running;
    expect(world.artifact('a').attempts).toMatchObject([
      { error_class: 'timeout', run_id: packed?.id },
      { error_class: 'other', note: expect.stringMatching(/the id of its run is already in use/) as string },
    ]);
    expect(world.sentRuns()).toHaveLength(1);
  });
});
