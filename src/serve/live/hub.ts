import type { ServerResponse } from 'node:http';
import { cursorOf, RUN_START } from '../../verbs/run-cursor.ts';
import { type Followed, RunChannel } from './channel.ts';
import { LIVE_LIMITS, type LiveLimits } from './live-limits.ts';
import { Viewer } from './viewer.ts';

export interface ViewerOptions {
  /** The id of the last event that the viewer has seen. Without it, everything follows. */
  readonly after?: string;
  /** Whether the viewer may still see the run. The hub asks at every heartbeat. */
  readonly isAllowed?: () => Promise<boolean>;
}

/** Sends the events of runs to viewers as server-sent events. One follower per run serves all its viewers. */
export class LiveHub {
  readonly #limits: LiveLimits;
  /** By run folder. */
  readonly #channels = new Map<string, RunChannel>();
  #viewers = 0;
  #beat: NodeJS.Timeout | undefined;

  constructor(limits: Partial<LiveLimits> = {}) {
    this.#limits = { ...LIVE_LIMITS, ...limits };
  }

  /** The number of viewers, and of runs that are followed. */
  get counts(): { readonly viewers: number; readonly runs: number } {
    return { viewers: this.#viewers, runs: this.#channels.size };
  }

  view(place: Followed, to: ServerResponse, { after, isAllowed }: ViewerOptions = {}): void {
    // A client that has left already would never be removed.
    if (to.destroyed || to.socket?.destroyed) return;
    const channel = this.#channels.get(place.folder) ?? this.#open(place);
    this.#viewers++;
    this.#beat ??= setInterval(() => this.#beatAll(), this.#limits.beatMs);
    const onGone = (): void => this.#leave(place.folder, channel, viewer);
    const viewer = new Viewer(to, this.#limits, onGone, isAllowed);
    channel.add(viewer, (after === undefined ? undefined : cursorOf(after)) ?? RUN_START);
  }

  /** Closes every connection. Viewers reconnect when the server is back. */
  close(): void {
    for (const channel of this.#channels.values()) for (const viewer of channel.viewers) viewer.cut();
  }

  #open(place: Followed): RunChannel {
    const { ringUnits, ringsUnits } = this.#limits;
    const room = (): number => Math.min(ringUnits, Math.floor(ringsUnits / Math.max(1, this.#channels.size)));
    const channel = new RunChannel(place, this.#limits, room);
    this.#channels.set(place.folder, channel);
    return channel;
  }

  #leave(folder: string, channel: RunChannel, viewer: Viewer): void {
    this.#viewers--;
    channel.remove(viewer);
    if (channel.isEmpty) {
      channel.close();
      if (this.#channels.get(folder) === channel) this.#channels.delete(folder);
    }
    if (this.#viewers > 0) return;
    clearInterval(this.#beat);
    this.#beat = undefined;
  }

  #beatAll(): void {
    for (const channel of this.#channels.values()) for (const viewer of channel.viewers) viewer.beat();
  }
}
