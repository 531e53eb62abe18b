import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { causeText, Fault } from '../base/fault.ts';
import { OWN_FOLDER } from '../base/private.ts';
import type { Capture } from '../contracts/capture.ts';
import { type Sealing, sealingOf } from '../evidence/finish.ts';
import { Journal } from '../evidence/journal.ts';
import { PASSING } from '../evidence/left.ts';
import { recoverRun } from '../evidence/recover.ts';
import { makeRunFolder, type RunPlace } from '../evidence/runs.ts';
import type { Launcher, Prepared } from '../execute/launch.ts';
import { sweep } from '../execute/sweep.ts';

/** Where a run is kept, and who watches it. */
export interface Around extends Sealing {
  readonly launcher: Launcher;
  /** The folder of everything that Proctor keeps. */
  readonly home: string;
  /** Stops the run when it is aborted. */
  readonly signal?: AbortSignal;
  /** What the program says, as it says it. */
  readonly onOutput?: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void | Promise<void>;
  /** The run waits until others on this machine have ended. */
  readonly onWait?: () => void;
  /** The run has a folder now. */
  readonly onFolder?: (place: RunPlace) => void;
}

/** A run whose sandbox is made. */
interface Recorded<Line> {
  readonly prepared: Prepared;
  readonly id: string;
  readonly lane: string;
  /** The first line of its journal. */
  readonly planned: Line;
  readonly around: Around;
}

/** From here on there is a journal, and whatever happens, the folder can be completed. */
export async function recordRun<Line, Answer>(
  { prepared, id, lane, planned, around }: Recorded<Line>,
  carryOut: (place: RunPlace, journal: Journal<Line>) => Promise<Answer>,
): Promise<Answer> {
  let place: RunPlace | undefined;
  try {
    place = makeRunFolder(around.home, lane, id);
    const journal = Journal.open<Line>(place.folder);
    try {
      journal.append(planned);
      mkdirSync(path.join(place.folder, 'evidence'), { mode: OWN_FOLDER });
      mkdirSync(path.join(place.folder, 'evidence', 'internal'), { mode: OWN_FOLDER });
      around.onFolder?.(place);
      const answer = await carryOut(place, journal);
      journal.remove();
      return answer;
    } catch (error) {
      journal.close();
      throw error;
    }
  } catch (error) {
    await prepared.close().catch(() => undefined);
    await sweep(prepared.leftovers);
    const isWhole = !place || (await completeAfter(error, place, around));
    throw isWhole || !(error instanceof Fault) ? error : left(error);
  }
}

/** Runs the program to its end, or to that of whoever waits for it. */
export async function watched(prepared: Prepared, { signal }: Around, show: Around['onOutput']): Promise<Capture> {
  const cancel = (): void => prepared.stop('cancel');
  const capturing = prepared.start(show);
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    return await capturing;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

/** Who looks on may fail, and is then shown nothing more; the run goes on, and its failure is told when it is over. */
export class Onlooker {
  readonly show: Around['onOutput'];
  failure: { readonly error: unknown } | undefined;

  constructor(onOutput: Around['onOutput']) {
    this.show =
      onOutput &&
      (async (stream, bytes) => {
        if (this.failure) return;
        try {
          await onOutput(stream, bytes);
        } catch (error) {
          this.failure = { error };
        }
      });
  }
}

/** The same for one who is told in the same turn. */
export class Listener<Told> {
  readonly tell: ((told: Told) => void) | undefined;
  failure: { readonly error: unknown } | undefined;

  constructor(listen: ((told: Told) => void) | undefined) {
    this.tell =
      listen &&
      (told => {
        if (this.failure) return;
        try {
          listen(told);
        } catch (error) {
          this.failure = { error };
        }
      });
  }
}

/** A fault of ours must not leave a run open, and must not be told as the program's. False where it stays open. */
async function completeAfter(error: unknown, { folder }: RunPlace, sealing: Sealing): Promise<boolean> {
  const fault =
    error instanceof Fault ? error : new Fault('bug', 'Proctor failed by a bug of its own.', { cause: error });
  try {
    // What a sandbox that did not start said is not the program's.
    if (fault.code === 'sandbox_unavailable')
      for (const part of PASSING) rmSync(path.join(folder, part), { force: true });
    const because = {
      reason: fault.code,
      message: 'The run could not be completed, which was not its own doing.',
      detail: `${fault.message} ${causeText(fault.cause)}`,
    };
    await recoverRun(folder, systemClock.now(), sealingOf(sealing), because, 'made by us', async left =>
      (await import('./agent/interrupted.ts')).judgeInterrupted(left),
    );
    return true;
  } catch {
    // The journal is still there, and `proctor recover` will try again.
    return false;
  }
}

/** The fault of a run whose folder could not be completed, either: on a full disk, nothing can be. */
function left({ code, message, cause }: Fault): Fault {
  return new Fault(code, `${message} What there is of the run is kept, and proctor recover completes it.`, { cause });
}
