import { copyFileSync, constants, lstatSync, rmSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { Fault, orWriteFault } from '../../base/fault.ts';
import { bytesHash, contentHash, type ContentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { VERSION } from '../../base/version.ts';
import type { Capture } from '../../contracts/capture.ts';
import { storedStream } from '../../evidence/step/stored-stream.ts';
import { PATH_FOLDERS } from '../../execute/host/programs.ts';
import { makeStage, removeStage } from '../../execute/host/workspace.ts';
import type { Job } from '../../execute/job/job.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import { sweep } from '../../execute/launcher/sweep.ts';
import { HOME } from '../../execute/sandboxes/root.ts';
import { CHANGE_LIMITS } from '../../execute/worktree/changes.ts';
import { COPIED_BYTES_MAX, copyTree } from '../../execute/worktree/check-tree.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import {
  isTreePath,
  PREPARED_LIMITS,
  type PreparedFile,
  type PreparedTree,
  writePrepared,
} from '../../execute/worktree/prepared.ts';
import { placeIn } from '../../execute/worktree/tree.ts';
import { filesIn, stateOf } from '../../execute/worktree/tree-state.ts';
import type { Effective } from '../../policy/effective-limits.ts';
import { limitsOf, LOCALE } from '../pipeline/runner-plan.ts';
import { runToEnd } from '../pipeline/steps.ts';
import { SetupCache } from './cache.ts';
import { type FailedSetups, lastWords, SetupFailure } from './failed-setups.ts';
import type { ReadySetup } from './order.ts';

export interface SetupPlace {
  readonly runId: string;
  /** The stage of the run, which gets a copy of the result. */
  readonly stage: string;
  readonly launcher: Launcher;
  /** Its tree is the base with the given files. */
  readonly clone: Clone;
  /** Paths that count as tracked, because the given files join the base commit. */
  readonly given: readonly string[];
  readonly filesSha256: string | undefined;
  readonly secrets: readonly string[];
  readonly mask: (text: string) => string;
  readonly signal: AbortSignal | undefined;
  /** The failures of the suite run, if this run is part of one. */
  readonly failed: FailedSetups | undefined;
}

export interface SetupResult {
  readonly prepared: PreparedFile;
  readonly isCached: boolean;
}

/**
 * Runs the setup command on a copy of the base, or takes its result from the cache. Only one run of this process at a
 * time works on the same result. Throws if the command fails, or failed before in the same suite run: then the agent
 * does not start.
 */
export async function runSetup(setup: ReadySetup, place: SetupPlace): Promise<SetupResult> {
  const key = keyOf(setup, place);
  return inTurn(key, async () => {
    const cache = new SetupCache();
    const known = cache.get(key, systemClock.now());
    const prepared = known ?? cache.keep(await madeOnce(setup, place, key, cache), key, systemClock.now());
    // The cache may drop its entry before the checks of this run need it.
    const own = path.join(place.stage, 'setup-result');
    orWriteFault('setup_failed', 'The result of the setup command', () =>
      copyFileSync(prepared.file, own, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE),
    );
    return { prepared: { ...prepared, file: own }, isCached: known !== undefined };
  });
}

async function madeOnce(
  setup: ReadySetup,
  place: SetupPlace,
  key: ContentHash,
  cache: SetupCache,
): Promise<PreparedFile> {
  place.failed?.refuse(key);
  try {
    return await made(setup, place, cache.temporary());
  } catch (error) {
    place.failed?.note(key, error);
    throw error;
  }
}

const turns = new Map<string, Promise<unknown>>();

async function inTurn<Value>(key: string, act: () => Promise<Value>): Promise<Value> {
  const before = turns.get(key);
  const mine = (async () => {
    await before?.catch(() => undefined);
    return act();
  })();
  turns.set(key, mine);
  try {
    return await mine;
  } finally {
    if (turns.get(key) === mine) turns.delete(key);
  }
}

/** Everything that can change the result. Lock files are part of the base or the given files. */
function keyOf({ command, effective }: ReadySetup, { clone, filesSha256 }: SetupPlace): ContentHash {
  const { timeoutMs, memoryBytes, pids, network, isolation } = effective;
  return contentHash({
    format: 1,
    command,
    base: bytesHash(clone.baseFiles),
    start: clone.startIn,
    files: filesSha256 ?? null,
    limits: { timeoutMs, memoryBytes: memoryBytes ?? null, pids: pids ?? null },
    sandbox: { network, isolation, proctor: VERSION },
    machine: [process.platform, process.arch, process.version],
  });
}

async function made(setup: ReadySetup, place: SetupPlace, file: string): Promise<PreparedFile> {
  if (place.signal?.aborted) throw cancelled();
  const id = `${place.runId}-setup`;
  const stage = makeStage(id);
  try {
    await copyTree(place.clone.tree, path.join(stage, 'roots'));
    const prepared = await place.launcher.open(setupJob(setup, place, stage, id));
    try {
      const startedAtMs = systemClock.now();
      const capture = await runToEnd({ prepared, context: place.signal ? { signal: place.signal } : {} });
      const durationMs = Math.max(systemClock.now() - startedAtMs, 0);
      refuseFailed(capture, setup.effective, place.mask);
      const top = path.join(prepared.workFolder, 'output');
      const { tree, leftOut } = await treeLeft(place, top);
      return await writePrepared(file, top, tree, { durationMs, leftOut });
    } finally {
      await prepared.close().catch(() => sweep(prepared.leftovers));
    }
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    removeStage(stage);
  }
}

/** No secrets, no model, nothing of the agent. The network is the one that the policy gives the agent. */
function setupJob({ command, effective }: ReadySetup, { clone, secrets }: SetupPlace, stage: string, id: string): Job {
  return {
    id,
    backend: 'process',
    argv: ['/bin/sh', '-c', command],
    env: { PATH: PATH_FOLDERS.join(':'), HOME, TMPDIR: '/tmp', LANG: LOCALE, TZ: 'UTC', CI: 'true' },
    stage,
    staged: [],
    writeRoots: ['.'],
    startIn: clone.startIn,
    home: true,
    network: effective.network,
    limits: { ...limitsOf(effective, CAPS), workBytes: COPIED_BYTES_MAX, workEntries: WORK_ENTRIES },
    secrets,
    live: false,
  };
}

const WORK_ENTRIES = 500_000;
const CAPS = { stdoutBytes: 64 * 1024, stderrBytes: 64 * 1024, htmlBytes: 0, summaryBytes: 1_000 };

function refuseFailed(capture: Capture, { timeoutMs, memoryBytes }: Effective, mask: (text: string) => string): void {
  const { ending, survivors = 0 } = capture;
  if (survivors > 0) throw stopped('left a process that could not be killed');
  if (ending.how === 'exited' && ending.code === 0) return;
  if (ending.how === 'killed' && ending.by === 'cancel') throw cancelled();
  const lines = lastLines(capture, mask);
  switch (ending.how) {
    case 'exited':
      throw new SetupFailure(`failed with exit code ${ending.code}`, lines);
    case 'killed':
      throw new SetupFailure(
        ending.by === 'timeout' ? `exceeded its time limit (${timeoutMs} ms)` : `was stopped (${ending.by})`,
        lines,
      );
    case 'out_of_memory':
      throw new SetupFailure(`ran out of memory${memoryBytes === undefined ? '' : ` (${memoryBytes} bytes)`}`, lines);
    default:
      throw stopped(`did not end normally (${ending.how.replaceAll('_', ' ')})`, lines);
  }
}

function cancelled(): Fault {
  return new Fault('cancelled', 'The setup command was cancelled, so the agent did not start.');
}

function stopped(why: string, lines: readonly string[] = []): Fault {
  return new Fault('setup_failed', `The setup command ${why}, so the agent did not start.${lastWords(lines)}`);
}

function lastLines({ stdout, stderr }: Capture, mask: (text: string) => string): string[] {
  const linesOf = (stream: Capture['stdout']): string[] =>
    mask(Buffer.from(storedStream(stream).bytes).toString())
      .split('\n')
      .filter(line => line.trim() !== '')
      .map(line => printable(line.slice(0, LINE_UNITS_MAX)));
  const errors = linesOf(stderr).slice(-LINES_MAX);
  const rest = LINES_MAX - errors.length;
  return [...(rest > 0 ? linesOf(stdout).slice(-rest) : []), ...errors];
}

const LINES_MAX = 20;
const LINE_UNITS_MAX = 200;

/** What the command did to the tree, after all its processes have ended. */
async function treeLeft(
  { clone, given }: SetupPlace,
  top: string,
): Promise<{ readonly tree: PreparedTree; readonly leftOut: number }> {
  const state = await stateOf(clone, top, CHANGE_LIMITS, filesIn(clone.baseFiles), new Set(given));
  const lost = state.leftOut.some(({ why }) => why === 'too_large' || why === 'unreadable');
  const put = state.put.filter(({ path: at }) => isTreePath(at));
  const ignored = state.ignored.filter(({ path: at }) => isTreePath(at));
  const files = [...put, ...ignored];
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const { bytes: bytesMax, entries: entriesMax } = PREPARED_LIMITS;
  if (lost || state.missed || bytes > bytesMax || files.length + state.deleted.length > entriesMax)
    throw stopped(
      `exceeded a limit on its result: at most ${entriesMax.toLocaleString('en-US')} files and 1 GiB, and 64 MiB for a file that git does not ignore`,
    );
  const gone = given.filter(at => lstatSync(placeIn(top, at), { throwIfNoEntry: false }) === undefined);
  const deleted = [...new Set([...state.deleted, ...gone])];
  return { tree: { put, deleted, ignored }, leftOut: state.leftOut.length + state.nested.length };
}
