import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { newKeyPair } from '../../../src/base/ed25519.ts';
import type { PublishedRequest } from '../../../src/contracts/published-request/index.ts';
import type { ScriptRunView } from '../../../src/publish/views.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import type { AttemptClaim } from '../../../src/queue/queue.ts';
import { readPublishedRequest } from '../../../src/run/suite/published-question.ts';
import { ServerLog } from '../../../src/serve/operation/log.ts';
import { ScriptRunner } from '../../../src/serve/orders/script-runner.ts';
import { FolderStore } from '../../../src/store/folder.ts';
import { signerAt } from '../../../src/verbs/keys.ts';
import { publishScript } from '../../../src/verbs/publish/publish.ts';
import { publishedRunView } from '../../../src/verbs/publish/published-view.ts';
import { PublishWorld } from '../../publish/world.ts';

/** A server that sends its published scripts to workers. The tests play the workers. */
export async function sentWorld({ publishes = true, trusted = undefined as ReadonlySet<string> | undefined } = {}) {
  const world = new PublishWorld();
  const { cwd, home } = world;
  if (publishes) await publishScript('tool', { cwd });
  const clock = { ms: Date.now(), now: (): number => clock.ms };
  const queue = new MemoryQueue({ clock });
  const blobs = path.join(cwd, 'blobs');
  mkdirSync(blobs);
  const store = new FolderStore(blobs);
  const keyFile = path.join(cwd, 'server.key');
  writeFileSync(keyFile, newKeyPair().privatePem, { mode: 0o600 });
  const signer = signerAt(cwd, keyFile);
  if (!signer) throw new Error('no key');
  const lines: string[] = [];
  const started: ScriptRunner[] = [];
  onTestFinished(async () => {
    await Promise.all(started.map(one => one.stop(0)));
  });
  /** The next server of the project. */
  const server = (over: { trusted?: ReadonlySet<string>; isLocal?: true } = {}): ScriptRunner => {
    const workers = { queue, store, signer, overview: () => queue.overview(), trusted, handedBackMs: 20, ...over };
    const log = new ServerLog(line => lines.push(line));
    const runner = new ScriptRunner({ cwd, home, log, ...(!over.isLocal && { workers }) });
    started.push(runner);
    runner.resume();
    return runner;
  };
  /** Claims a run as a worker that allows any script. */
  const claim = async (waitMs = 20_000): Promise<AttemptClaim | undefined> => {
    const offer = { ...OFFER, scripts: { digests: [], isAny: true, network: 'open' as const } };
    return (await queue.claim(offer, 1, { waitMs }))[0];
  };
  const claimed = async (): Promise<{ claim: AttemptClaim; request: PublishedRequest }> => {
    const one = await claim();
    if (!one) throw new Error('nothing was offered');
    return { claim: one, request: await readPublishedRequest(one.request, store) };
  };
  const view = (runner: ScriptRunner, id: string): ScriptRunView => publishedRunView(cwd, id, runner.live(id), true);
  const ended = async (runner: ScriptRunner, id: string): Promise<ScriptRunView> => {
    await expect.poll(() => view(runner, id).state, { timeout: 20_000 }).not.toMatch(/waiting|running/);
    return view(runner, id);
  };
  return { world, cwd, home, queue, store, blobs, signer, keyFile, lines, clock, server, claim, claimed, view, ended };
}

export const OFFER = {
  worker: 'w1',
  needs: ['script/process/strict', 'script/process/standard'],
  slots: 1,
  version: '0.0.0',
  protocols: [1, 101, 201],
};
