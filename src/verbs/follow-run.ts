import { LAST_EVENTS, type RunEvent } from '../contracts/run-events.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { cursorOf, furthest, isAtOrAfter, RUN_START, type RunCursor } from './run-cursor.ts';
import { RunFollower, stateEvent } from './run-follower.ts';

export interface FollowOptions {
  /** The id of the last event that the viewer has seen. Without it, everything follows. */
  readonly from?: string;
  readonly signal?: AbortSignal;
}

/**
 * The events of a run, from the start or a position, as they happen. Ends after `sealed` and `gone`. Reads events from
 * the run's files when they are asked for, so a slow reader costs no memory.
 */
export async function* followRun(place: RunFolder, { from, signal }: FollowOptions = {}): AsyncGenerator<RunEvent> {
  const news = new News();
  const cuts: RunEvent[] = [];
  const follower = new RunFollower(place, events => {
    for (const event of events) if (event.kind === 'cut') cuts.push(event);
    news.tell();
  });
  signal?.addEventListener('abort', () => news.tell(), { once: true });
  const isStopped = (): boolean => signal?.aborted === true;
  try {
    let seen = (from === undefined ? undefined : cursorOf(from)) ?? RUN_START;
    let [round, state] = [follower.round, follower.state];
    while (!isStopped()) {
      const isOver = LAST_EVENTS.has(follower.state as RunEvent['kind']);
      const isLost = follower.isCaughtUp && !isOver && follower.hasStartedOver(seen, follower.cursor);
      if (isLost || follower.round > round) {
        yield stateEvent('restart');
        seen = RUN_START;
        round = follower.round;
      }
      const to: RunCursor = follower.cursor;
      if (isAtOrAfter(to, seen) || (follower.isCaughtUp && to.line >= seen.line)) {
        yield* follower.again(seen, to);
        seen = furthest(seen, to);
        yield* cuts.splice(0);
      }
      if (!isAtOrAfter(to, follower.cursor)) continue;
      const isNews = follower.state !== state;
      state = follower.state;
      if (isNews && state !== 'following') yield stateEvent(state);
      if (LAST_EVENTS.has(state as RunEvent['kind'])) return;
      await news.next();
    }
  } finally {
    follower.close();
  }
}

/** Wakes one waiting reader. News that arrive before it waits are not lost. */
class News {
  #isThere = false;
  #wake: (() => void) | undefined;

  tell(): void {
    this.#isThere = true;
    this.#wake?.();
  }

  async next(): Promise<void> {
    if (!this.#isThere) await new Promise<void>(resolve => (this.#wake = resolve));
    this.#isThere = false;
    this.#wake = undefined;
  }
}
