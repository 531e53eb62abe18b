/** What a server believes of workers that lie about runs of published scripts: real sandboxes, real packs, and made-up ones. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newKeyPair, privateKeyIn } from '../../src/base/ed25519.ts';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash, type ContentHash } from '../../src/base/hash.ts';
import type { PublishedRequest } from '../../src/contracts/published-request/index.ts';
import { type SealEnvelope, signerWith } from '../../src/contracts/seal/index.ts';
import { limitsOfRecord } from '../../src/contracts/script-limits.ts';
import type { OfferedScripts } from '../../src/queue/queue.ts';
import { expireFiles } from '../../src/evidence/run-folder/expired.ts';
import { PUBLISHED_ANSWER, publishedQuestion } from '../../src/run/suite/published-question.ts';
import { attemptReport, type Reporter } from '../../src/run/suite/attempt-report.ts';
import type { AttemptResult } from '../../src/run/suite/target.ts';
import type { BlobStore } from '../../src/store/store.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { packRun } from '../../src/verbs/pack.ts';
import { tendScriptRuns } from '../../src/verbs/publish/expire-runs.ts';
import { takeSent } from '../../src/verbs/publish/sent-published.ts';
import { workerPublished } from '../../src/verbs/worker-published.ts';
import { runScript, type RunScriptOptions } from '../../src/verbs/run-script.ts';
import { verify } from '../../src/verify/index.ts';
import { testReporter } from '../run/suite/queue-world.ts';
import { sentWorld } from '../serve/orders/sent-world.ts';
import { temporaryFolder } from '../support/support.ts';

afterAll(closeLauncher);

/** A worker that makes up what it reports. It has a key of its own, with which it also signs runs. */
class LyingWorker {
  readonly #keyFile = path.join(temporaryFolder(), 'worker.key');
  readonly publicPem: string;
  readonly reporter: Reporter;

  constructor() {
    const { privatePem, publicPem } = newKeyPair();
    this.publicPem = publicPem;
    writeFileSync(this.#keyFile, privatePem, { mode: 0o600 });
    const key = privateKeyIn(privatePem);
    if (!key) throw new Error('no key');
    this.reporter = { ...testReporter(), signer: signerWith(key) };
  }

  get keyId(): string {
    return this.reporter.signer.keyId;
  }

  /** Runs the script as the request asks for, except for what `over` changes, and packs the run. */
  async made(
    request: PublishedRequest,
    tool: string,
    values: string,
    { before = () => undefined, ...over }: Partial<RunScriptOptions> & { before?: (folder: string) => void } = {},
  ) {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'inputs.json'), values);
    const run = await runScript({
      script: path.join(tool, 'run.sh'),
      inputs: [path.join(folder, 'inputs.json')],
      ...limitsOfRecord(request.requested),
      runId: request.run_id,
      published: request.published,
      cwd: folder,
      signingKey: this.#keyFile,
      ...over,
    });
    before(run.folder);
    const { file } = await packRun(run.folder, { cwd: folder });
    const seal = readFileSync(path.join(run.folder, 'evidence', 'seal.json'));
    return packed(run.runId, readFileSync(file), bytesHash(seal));
  }
}

function packed(id: string, bytes: Buffer, sealSha256: ContentHash = bytesHash('seal')): AttemptResult {
  async function* read() {
    yield bytes;
  }
  const pack = { sha256: bytesHash(bytes), bytes: bytes.length };
  return {
    latencyMs: 5,
    outcome: PUBLISHED_ANSWER,
    packed: { id, sealSha256, pack, read, remove: () => undefined },
  };
}

interface Lying {
  readonly request: PublishedRequest;
  readonly worker: LyingWorker;
  /** The published folder, and the values of the order. */
  readonly tool: string;
  readonly values: string;
  readonly blobs: string;
}

type Lie = (lying: Lying) => Promise<{ readonly result: AttemptResult; readonly about?: PublishedRequest }>;

/** What becomes of an order whose run a worker makes up. */
async function lied(lie: Lie, over: { trusted?: ReadonlySet<string>; after?: (blobs: string) => void } = {}) {
  const world = await sentWorld();
  const { server, claimed, ended, queue, store, home, blobs, lines, cwd, signer, keyFile } = world;
  const worker = new LyingWorker();
  const runner = server(over.trusted && { trusted: over.trusted });
  const { run_id: id } = runner.order({ name: 'echo', by: 'user:ada' });
  const { claim, request } = await claimed();
  const values = readFileSync(path.join(home, 'server', 'script-runs', id, 'input', 'inputs.json'), 'utf8');
  const { result, about = request } = await lie({ request, worker, tool: world.world.folder, values, blobs });
  const made = { startedAtMs: 1_000, endedAtMs: 2_000, result };
  const report = await attemptReport(publishedQuestion(about), made, { ...worker.reporter, store });
  over.after?.(blobs);
  await queue.settle([{ claim, end: { is: 'reported', report } }]);
  const view = await ended(runner, id);
  await runner.stop(0);
  const takeAgain = () => takeSent(id, report, { cwd, store, trusted: undefined, signer });
  const folder = path.join(home, 'runs', 'script', id);
  const ledger = (): string[] => readFileSync(path.join(home, 'ledger.ndjson'), 'utf8').split('\n');
  const record = readdirSync(path.join(home, 'server', 'script-runs', id));
  return {
    view,
    folder,
    record,
    lines,
    worker,
    cwd,
    signer,
    id,
    keyFile,
    world: world.world,
    server,
    ended,
    ledger,
    takeAgain,
  };
}

function fillSignatures(folder: string): void {
  const file = path.join(folder, 'evidence', 'seal.json');
  const envelope = JSON.parse(readFileSync(file, 'utf8')) as SealEnvelope;
  const signatures = Array.from({ length: 16 }, () => envelope.signatures)
    .flat()
    .slice(0, 16);
  writeFileSync(file, canonicalize({ ...envelope, signatures }));
  // Its line names the seal as it was.
  rmSync(path.join(folder, '..', '..', '..', 'ledger.ndjson'));
}

function outputsExpire(folder: string, { reporter: { signer } }: LyingWorker): number {
  return expireFiles(folder, { isWanted: name => name.startsWith('output/'), nowMs: Date.now(), signer });
}

const HONEST: Lie = async ({ worker, request, tool, values }) => ({ result: await worker.made(request, tool, values) });

const ECHOES = (folder: string): string => readFileSync(path.join(folder, 'run.sh'), 'utf8');

describe('a run from a worker', () => {
  test('counts if it is the one that was asked for, carries both signatures, and its files expire', async () => {
    const { view, folder, record, worker, signer, cwd, id, keyFile, world } = await lied(HONEST);
    expect(view).toMatchObject({ state: 'succeeded', html_output: '<p>done</p>' });
    expect(view.operator_note).toBe(`Worker test made this run. Its key is ${worker.keyId}.`);
    expect(record).toEqual(['journal.ndjson']);
    const outcomes = async (options: Parameters<typeof verify>[1]) => {
      const found: string[] = [];
      for await (const { outcome } of verify([folder], options)) found.push(outcome);
      return found.at(-1);
    };
    for (const key of [worker.publicPem, signer.publicPem])
      expect(await outcomes({ key, requireSignature: true })).toBe('valid');
    expect(await outcomes({ key: signer.publicPem, revoked: [worker.publicPem] })).toBe('invalid');
    // The server signed too, so it can remove outputs when their time is over.
    world.settings({ keep_outputs: '1d' });
    const { expired } = await tendScriptRuns(cwd, { nowMs: Date.now() + 2 * 86_400_000, signingKey: keyFile });
    expect(expired).toEqual([{ runId: id, what: 'outputs' }]);
    expect(readdirSync(folder)).not.toContain('output');
    expect(await outcomes({ key: signer.publicPem, requireSignature: true })).toBe('valid');
  });

  test.each(['before it shows the run', 'before it notes that it has the run'])(
    'is taken over once, also if a server dies %s',
    async when => {
      const { folder, id, world, server, ended, ledger } = await lied(HONEST);
      const record = path.join(world.home, 'server', 'script-runs', id);
      if (when === 'before it shows the run') {
        const taking = path.join(record, 'taking', 'runs', 'script');
        mkdirSync(taking, { recursive: true });
        renameSync(folder, path.join(taking, id));
      }
      const journal = path.join(record, 'journal.ndjson');
      const lines = readFileSync(journal, 'utf8').split('\n');
      expect(lines.at(-2)).toContain('"taken"');
      writeFileSync(journal, lines.slice(0, -2).join('\n') + '\n');
      expect(await ended(server(), id)).toMatchObject({ state: 'succeeded', html_output: '<p>done</p>' });
      expect(readdirSync(record)).toEqual(['journal.ndjson']);
      const lined = ledger().filter(line => line.includes(id));
      expect(new Set(lined).size).toBe(lined.length);
      const sealed = bytesHash(readFileSync(path.join(folder, 'evidence', 'seal.json')));
      expect(lined.at(-1)).toContain(sealed);
    },
  );

  test('is noted once, however often the server goes on with it', async () => {
    const { takeAgain, folder, id } = await lied(HONEST);
    const journal = path.join(folder, '..', '..', '..', 'server', 'script-runs', id, 'journal.ndjson');
    const before = readFileSync(journal, 'utf8');
    expect(before.match(/"taken"/g)).toHaveLength(1);
    expect(await takeAgain()).toBeUndefined();
    expect(readFileSync(journal, 'utf8')).toBe(before);
  });

  const refused: readonly (readonly [what: string, why: RegExp, lie: Lie])[] = [
    [
      'of another script',
      /its run is that of another script/,
      async ({ worker, request, tool, values }) => {
        const folder = temporaryFolder();
        writeFileSync(path.join(folder, 'run.sh'), `${ECHOES(tool)}# other\n`);
        return { result: await worker.made(request, folder, values) };
      },
    ],
    [
      'of another version',
      /its run is that of another version/,
      async ({ worker, request, tool, values }) => {
        const published = { ...request.published, version: '2.0.0' };
        return { result: await worker.made(request, tool, values, { published }) };
      },
    ],
    [
      'with other inputs',
      /its run had other inputs/,
      async ({ worker, request, tool }) => ({ result: await worker.made(request, tool, '{"word":"easier"}') }),
    ],
    [
      'with more time',
      /its run had other arguments, variables or limits/,
      async ({ worker, request, tool, values }) => ({
        result: await worker.made(request, tool, values, { timeoutMs: 599_000 }),
      }),
    ],
    [
      'with variables',
      /its run had other arguments, variables or limits/,
      async ({ worker, request, tool, values }) => ({
        result: await worker.made(request, tool, values, { env: { WORD: 'easier' } }),
      }),
    ],
    [
      'without a sandbox',
      /its run had other arguments, variables or limits/,
      async ({ worker, request, tool, values }) => ({
        result: await worker.made(request, tool, values, { sandbox: 'none' }),
      }),
    ],
    [
      'signed with the key of another worker',
      /its run does not verify: .*key/,
      async ({ request, tool, values }) => ({ result: await new LyingWorker().made(request, tool, values) }),
    ],
    [
      'whose seal has no room for the signature of the server',
      /its run does not have exactly one signature/,
      async ({ worker, request, tool, values }) => ({
        result: await worker.made(request, tool, values, { before: fillSignatures }),
      }),
    ],
    [
      'whose outputs expired before the server had them',
      /its run has evidence\/expired\.json, which a new run does not have/,
      async ({ worker, request, tool, values }) => ({
        result: await worker.made(request, tool, values, {
          before: folder => expect(outputsExpire(folder, worker)).toBeGreaterThan(0),
        }),
      }),
    ],
    [
      'with another id',
      /the id of its run is not valid/,
      async ({ worker, request, tool, values }) => ({
        result: await worker.made(request, tool, values, { runId: 'script_20260101_000000_0123456789ab' }),
      }),
    ],
    [
      'under an outcome about another request',
      /the worker ran another script, another version, or other inputs/,
      async ({ worker, request, tool, values }) => ({
        result: await worker.made(request, tool, values),
        about: { ...request, caps: { ...request.caps, stdout_bytes: 1_000 } },
      }),
    ],
    [
      'larger than the limit',
      /its run is larger than the limit/,
      async ({ request }) => ({ result: packed(request.run_id, Buffer.alloc(64 * 1024 ** 2 + 1)) }),
    ],
    [
      'that is not an archive',
      /its run does not verify/,
      async ({ request }) => ({ result: packed(request.run_id, Buffer.from('hello')) }),
    ],
    [
      'that is missing',
      /it has no run/,
      async () => ({
        result: {
          latencyMs: 5,
          outcome: { ok: false, class: 'timeout', message: 'The script timed out.', mayRetry: false },
        },
      }),
    ],
  ];
  test.each(refused)('is refused: one %s', async (_, why, lie) => {
    const { view, folder, lines, record } = await lied(lie);
    expect(view).toMatchObject({ state: 'lost', html_output: null, files: [] });
    // The user does not read that the script failed, because nobody knows.
    expect(view.error_summary).toMatch(/^The server did not accept the result of the machine that ran the script\./);
    expect(view.operator_note).toMatch(/^Proctor refused the result of worker w1: /);
    expect(view.operator_note).toMatch(why);
    expect(lines.some(line => line.includes('"result_refused"'))).toBe(true);
    expect(existsSync(folder)).toBe(false);
    expect(record).toEqual(['journal.ndjson']);
  });

  const exchanged: readonly (readonly [what: string, why: RegExp, after: (file: string) => void])[] = [
    ['was removed', /its run is not in the store/, file => rmSync(file)],
    ['was exchanged', /its run has other bytes than the worker signed/, file => writeFileSync(file, 'other')],
  ];
  test.each(exchanged)('is refused if its pack in the store %s', async (_, why, after) => {
    let name = '';
    const { view, folder } = await lied(
      async ({ worker, request, tool, values }) => {
        const result = await worker.made(request, tool, values);
        name = result.packed?.pack.sha256.slice('sha256:'.length) ?? '';
        return { result };
      },
      { after: blobs => after(path.join(blobs, name.slice(0, 2), name)) },
    );
    expect(view.state).toBe('lost');
    expect(view.operator_note).toMatch(why);
    expect(existsSync(folder)).toBe(false);
  });

  test('is refused if the operator does not trust its key, or no longer', async () => {
    const { view, folder } = await lied(
      async ({ worker, request, tool, values }) => ({ result: await worker.made(request, tool, values) }),
      { trusted: new Set([new LyingWorker().keyId]) },
    );
    expect(view.state).toBe('lost');
    expect(view.operator_note).toMatch(/it is signed with a key that is not trusted/);
    expect(existsSync(folder)).toBe(false);
  });

  test('that the worker could not complete is not blamed on the script', async () => {
    const { view } = await lied(async () => ({
      result: {
        latencyMs: 5,
        outcome: { ok: false, class: 'other', message: 'The worker was shut down during the attempt.', mayRetry: true },
      },
    }));
    expect(view).toMatchObject({
      state: 'lost',
      error_summary: expect.stringMatching(/^The machine that ran the script could not complete the run\./) as string,
      operator_note: 'Worker w1 could not complete the run: The worker was shut down during the attempt.',
    });
  });
});

describe('a worker', () => {
  /** Opens the first run that the server offers, on a worker that allows these scripts. */
  async function opened(
    allowed: (request: PublishedRequest) => Partial<OfferedScripts>,
    changed: (request: PublishedRequest, blobs: string) => PublishedRequest = request => request,
    onFetch: (stop: AbortController) => void = () => undefined,
  ) {
    const { server, claimed, store: real, signer, blobs } = await sentWorld();
    const stop = new AbortController();
    const store: BlobStore = {
      put: (...words) => real.put(...words),
      missing: digests => real.missing(digests),
      sweep: (...words) => real.sweep(...words),
      get(digest) {
        onFetch(stop);
        return real.get(digest);
      },
    };
    server().order({ name: 'echo', by: 'user:ada' });
    const { request } = await claimed();
    const home = temporaryFolder();
    const scripts = { digests: [], isAny: false, network: 'open' as const, ...allowed(request) };
    const target = await workerPublished(
      changed(request, blobs),
      { allowed: scripts, store, home, signer },
      stop.signal,
    );
    await target.close();
    return readdirSync(path.join(home, 'scripts'));
  }
  const named = ({ published }: PublishedRequest) => ({ digests: [published.digest] });

  test('takes a version that it allows by its digest, and any version if it allows any script', async () => {
    expect(await opened(named)).toEqual([]);
    expect(await opened(() => ({ isAny: true }))).toEqual([]);
  });

  const refused: readonly (readonly [
    what: string,
    why: RegExp,
    changed: (request: PublishedRequest, blobs: string) => PublishedRequest,
  ])[] = [
    [
      'more time than script.yaml declares',
      /not the one that the script\.yaml of its version declares/,
      request => ({ ...request, requested: { ...request.requested, timeout_ms: 599_000 } }),
    ],
    [
      'another file of the version as its script',
      /not the one that the script\.yaml of its version declares/,
      request => ({ ...request, script: 'script.yaml' }),
    ],
    [
      'a file that the store does not have',
      /The store does not have all files of the run/,
      (request, blobs) => {
        const name = request.inputs[0]?.sha256.slice('sha256:'.length) ?? '';
        rmSync(path.join(blobs, name.slice(0, 2), name));
        return request;
      },
    ],
    [
      'a file whose name is too long',
      /A file of the run has a name that cannot be used here/,
      request => withBundled(request, 'a'.repeat(300)),
    ],
    [
      'a file that is in another file',
      /A file of the run has a name that cannot be used here/,
      request => withBundled(request, 'script.yaml/a'),
    ],
    [
      'a file that is larger than the request says',
      /The store has other bytes than the request names/,
      request => ({ ...request, inputs: request.inputs.map(one => ({ ...one, bytes: one.bytes - 1 })) }),
    ],
  ];
  function withBundled(request: PublishedRequest, name: string): PublishedRequest {
    const [file] = request.files;
    if (!file) throw new Error('The version has no file.');
    return { ...request, files: [...request.files, { ...file, path: name }], bundled: [...request.bundled, name] };
  }

  test.each(refused)('hands back a run with %s, before anything has begun', async (_, why, changed) => {
    await expect(opened(named, changed)).rejects.toThrow(why);
  });

  const large = (bytes: number, count: number) => (request: PublishedRequest) => ({
    ...request,
    inputs: [
      ...request.inputs,
      ...Array.from({ length: count }, (_, index) => ({ name: `i${index}`, bytes, sha256: bytesHash(`${index}`) })),
    ],
  });
  test.each([
    ['one file', large(64 * 1024 ** 2 + 1, 1)],
    ['all files together', large(64 * 1024 ** 2, 17)],
  ])('fetches nothing of a run with %s larger than a server may send', async (_, changed) => {
    let fetched = 0;
    await expect(opened(named, changed, () => void fetched++)).rejects.toThrow(/larger than a server may send/);
    expect(fetched).toBe(0);
  });

  test('fetches no more files of a run that is stopped', async () => {
    let fetched = 0;
    const stopping = (stop: AbortController): void => {
      fetched++;
      stop.abort();
    };
    await expect(opened(named, undefined, stopping)).rejects.toThrow(/was stopped before/);
    expect(fetched).toBe(1);
  });

  test('hands back a version that it does not allow', async () => {
    await expect(opened(() => ({ digests: [bytesHash('another')] }))).rejects.toThrow(
      'This worker may not run this script.',
    );
  });
});
