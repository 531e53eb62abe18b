import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { isDeclaration, type ProjectTarget } from '../../contracts/project/index.ts';
import { changedFiles, type FileStamps, fileStamps } from '../../execute/host/file-stamps.ts';
import { findProjectFile, type ProjectFile } from '../../run/project/project-file.ts';
import { BASELINES } from './suite-test.ts';
import { projectFor, type TestOptions, type TestResult, testProject } from './test-project.ts';

export interface WatchHooks {
  readonly onResult: (result: TestResult) => void;
  /** Called with a fault that stopped a test, such as an invalid project file. */
  readonly onFault: (fault: Fault) => void;
  readonly onWait: () => void;
  /** Called with the file that changed, relative to the project. */
  readonly onChange: (file: string) => void;
  readonly onIgnored: (file: string) => void;
  /** Called if every test is followed by a change, with one such file. Only a later change starts a test again. */
  readonly onRestless: (file: string) => void;
}

/** Tests a project again whenever its files change, until the signal stops it. Returns the last result. */
export async function watchProject(options: TestOptions, hooks: WatchHooks): Promise<TestResult | undefined> {
  const { signal, accept } = options;
  if (accept)
    throw new Fault(
      'usage',
      'Use either --watch or --accept: a watched test would accept every change without review.',
    );
  const dir = folderOf(options);
  const skipped = new Set<string>();
  let duringLast: ReadonlySet<string> = new Set();
  let last: TestResult | undefined;
  let inARow = 0;
  for (;;) {
    const roots = rootsOf(options, dir, skipped);
    const before = fileStamps(roots, skipped);
    last = (await tested(options, hooks)) ?? last;
    if (signal?.aborted) return last;
    const during = new Set(changedFiles(before, fileStamps(roots, skipped)));
    // If a file changes in two runs in a row, the agent writes it. Watching it would start tests forever.
    for (const file of during) {
      if (!duringLast.has(file)) continue;
      skipped.add(file);
      hooks.onIgnored(path.relative(dir, file));
    }
    duringLast = during;
    hooks.onWait();
    for (let reading = before; ; reading = fileStamps(roots, skipped)) {
      const changed = await nextChange(reading, roots, skipped, signal);
      if (changed === undefined) return last;
      const file = path.relative(dir, changed.file);
      inARow = changed.isAtOnce ? inARow + 1 : 0;
      if (inARow <= AT_ONCE_MAX) {
        hooks.onChange(file);
        break;
      }
      // Each test seems to cause the next, for example with a log that has a new name every time.
      if (inARow === AT_ONCE_MAX + 1) hooks.onRestless(file);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** How many tests in a row may start at once after the one before. */
const AT_ONCE_MAX = 3;

async function tested(options: TestOptions, { onResult, onFault }: WatchHooks): Promise<TestResult | undefined> {
  try {
    const result = await testProject(options);
    onResult(result);
    return result;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    onFault(error);
    return undefined;
  }
}

/** The folder to watch. It is known even while the project file is not valid. */
function folderOf(options: TestOptions): string {
  const { config, cwd = process.cwd() } = options;
  const file = config === undefined ? findProjectFile(cwd) : path.resolve(cwd, config);
  return file === undefined ? projectFor(options).dir : path.dirname(file);
}

/** The project's folder, and the folders of targets outside it. Skips what the test itself writes. */
function rootsOf(options: TestOptions, dir: string, skipped: Set<string>): string[] {
  let file: ProjectFile;
  try {
    file = projectFor(options);
  } catch (error) {
    if (error instanceof Fault) return [dir];
    throw error;
  }
  const { cwd = process.cwd(), out } = options;
  skipped.add(path.resolve(dir, file.project.baselines ?? BASELINES));
  if (out !== undefined) skipped.add(path.resolve(cwd, out));
  const others = Object.values(file.project.targets).flatMap(target =>
    foldersOf(target).map(one => path.resolve(dir, one)),
  );
  return [dir, ...new Set(others.filter(one => path.relative(dir, one).startsWith('..')))];
}

function foldersOf(target: ProjectTarget): string[] {
  if (target.kind === 'script') return [path.dirname(target.file)];
  if (target.kind === 'agent') return target.dir === undefined ? [] : [target.dir];
  return isDeclaration(target) && target.start?.cwd !== undefined ? [target.start.cwd] : [];
}

/** Waits until a file differs from the reading before the test. Undefined if the signal stops it. */
async function nextChange(
  before: FileStamps,
  roots: readonly string[],
  skipped: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<{ readonly file: string; readonly isAtOnce: boolean } | undefined> {
  for (let readings = 1; ; readings++) {
    if (signal?.aborted) return undefined;
    const startMs = monotonicMs();
    const changed = changedFiles(before, fileStamps(roots, skipped)).find(file => !skipped.has(file));
    if (changed !== undefined) return { file: changed, isAtOnce: readings <= AT_ONCE_READINGS };
    // Reading a large folder takes at most a tenth of the time.
    const pauseMs = Math.max(PAUSE_MS, 10 * (monotonicMs() - startMs));
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

const PAUSE_MS = 300;

/** What a test causes shows up in these readings, at most: its log may be written a little later. */
const AT_ONCE_READINGS = 3;
