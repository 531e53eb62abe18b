import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newRunId } from '../base/ids.ts';
import { ATTEMPTS_MAX, ATTEMPTS_MIN } from '../contracts/agent-step/attempt.ts';
import type { TranscriptLine } from '../contracts/agent-step/reading.ts';
import type { AttemptsReport, UnrankedAttempt } from '../contracts/attempts.ts';
import { isSealed } from '../evidence/recovery/recover.ts';
import { roomForAgents } from '../execute/host/room.ts';
import { SLOTS } from '../execute/host/slots.ts';
import { readAttempt } from '../judge/agent/attempt-row.ts';
import { type MemberRead, ranked } from './attempt-group.ts';
import { checkerIfUsable } from './keys.ts';
import { refuseUnknown } from './options.ts';
import { AGENT_OPTIONS, checkAgentOptions, runAgentAs, type RunAgentOptions } from './run-agent.ts';

/** A task that several agents attempt, each on its own private clone. */
export interface RunAttemptsOptions extends Omit<RunAgentOptions, 'onEvent' | 'onWait' | 'onFolder'> {
  /** How many attempts to make: 2 to 20. */
  readonly attempts: number;
  /** Called when an attempt makes progress. */
  readonly onAttempt?: (progress: AttemptProgress) => void;
}

export type AttemptProgress = { readonly attempt: number } & (
  | { readonly is: 'preparing' | 'waiting' }
  | { readonly is: 'running'; readonly runId: string }
  | { readonly is: 'event'; readonly line: TranscriptLine }
  | { readonly is: 'ended'; readonly row: AttemptsReport['attempts'][number] | UnrankedAttempt }
);

export interface AttemptsResult {
  readonly report: AttemptsReport;
  /** The run folders of ranked attempts, by number. */
  readonly folders: ReadonlyMap<number, string>;
}

/**
 * Runs several attempts at one task side by side, seals each, and ranks them by checks, diff and cost. A fault of one
 * attempt does not stop the others.
 */
export async function runAttempts(options: RunAttemptsOptions): Promise<AttemptsResult> {
  checkOptions(options);
  const { attempts: of, onAttempt, ...asked } = options;
  const group = newRunId('attempts', systemClock);
  const numbers = Array.from({ length: of }, (_, index) => index + 1);
  const said = new Set<string>();
  const onWarning = (sentence: string): void => {
    // Attempts share most warnings.
    if (!said.has(sentence)) asked.onWarning?.(sentence);
    said.add(sentence);
  };
  const ended: Ended[] = [];
  await sideBySide(numbers, async number => {
    const one = await attempted({ ...asked, onWarning }, { group, number, of }, onAttempt);
    ended.push(one);
    const row = one.read ? { ...one.read.row, rank: 0 } : one.notRun;
    onAttempt?.({ attempt: number, is: 'ended', row });
  });
  const read = ended.flatMap(one => one.read ?? []);
  const notRun = ended.flatMap(one => (one.read ? [] : [one.notRun]));
  const [fault] = ended.flatMap(one => one.fault ?? []);
  if (read.length === 0 && fault) throw fault;
  const notes = ended.flatMap(one =>
    one.read && one.fault ? [`Attempt ${one.read.row.attempt} ended with a fault. ${one.fault.message}`] : [],
  );
  return ranked({ group, of, read, unusable: [], notRun, notes });
}

function checkOptions(options: RunAttemptsOptions): void {
  checkAgentOptions('runAttempts', options);
  const { onEvent: _, onWait: __, onFolder: ___, ...known } = AGENT_OPTIONS;
  refuseUnknown('runAttempts', options, { ...known, attempts: true, onAttempt: true });
  const { attempts, modelMode } = options;
  if (!Number.isSafeInteger(attempts) || attempts < ATTEMPTS_MIN || attempts > ATTEMPTS_MAX)
    throw new Fault('usage', `The number of attempts must be from ${ATTEMPTS_MIN} to ${ATTEMPTS_MAX}.`);
  if (modelMode === 'record')
    throw new Fault('usage', 'Several attempts cannot record to one file. Record a single run, or use a live model.');
}

type Ended =
  | { readonly read: MemberRead; readonly fault?: Fault }
  | { readonly read?: undefined; readonly notRun: UnrankedAttempt; readonly fault?: Fault };

/** Runs one attempt, and reads it from its sealed folder. */
async function attempted(
  options: RunAgentOptions,
  { group, number, of }: { readonly group: string; readonly number: number; readonly of: number },
  onAttempt: RunAttemptsOptions['onAttempt'],
): Promise<Ended> {
  const { cwd = process.cwd(), signingKey } = options;
  const key = checkerIfUsable(cwd, signingKey);
  let folder: string | undefined;
  let fault: Fault | undefined;
  try {
    if (options.signal?.aborted) throw new Fault('cancelled', 'It was cancelled before it started.');
    onAttempt?.({ attempt: number, is: 'preparing' });
    await runAgentAs(
      {
        ...options,
        onWait: () => onAttempt?.({ attempt: number, is: 'waiting' }),
        onFolder: place => {
          folder = place.folder;
          onAttempt?.({ attempt: number, is: 'running', runId: place.id });
        },
        ...(onAttempt && { onEvent: line => onAttempt({ attempt: number, is: 'event', line }) }),
      },
      { group, number, of },
    );
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    fault = error;
  }
  // A run can be sealed although it ended with a fault, for example one of the machine.
  const read = folder !== undefined && isSealed(folder) ? readAttempt(folder, key) : undefined;
  if (read && folder !== undefined) return { read: { ...read, folder }, ...(fault && { fault }) };
  const { code, message } = fault ?? { code: 'unreadable_run', message: 'Its run folder cannot be read.' };
  return { notRun: { attempt: number, run_id: null, code, message }, ...(fault && { fault }) };
}

/**
 * Starts as many attempts at once as the machine has slots, memory and disk for, but at least one. An attempt makes its
 * clone only when it has a slot.
 */
async function sideBySide(numbers: readonly number[], run: (number: number) => Promise<void>): Promise<void> {
  const waiting = [...numbers];
  const most = Math.max(1, Math.min(SLOTS, roomForAgents()));
  const running = new Set<Promise<void>>();
  const bugs: unknown[] = [];
  while (waiting.length > 0 || running.size > 0) {
    while (waiting.length > 0 && (running.size === 0 || hasRoom(running.size, most))) {
      const one: Promise<void> = run(waiting.shift() as number)
        .catch((error: unknown) => void bugs.push(error))
        .finally(() => running.delete(one));
      running.add(one);
    }
    await Promise.race(running);
  }
  // Throw only after all attempts ended, so that each leaves its evidence.
  if (bugs.length > 0) throw bugs[0];
}

/** Looks again before each start, because running attempts use more memory over time. */
function hasRoom(running: number, most: number): boolean {
  return running < Math.min(most, running + roomForAgents());
}
