import type { ServerResponse } from 'node:http';
import type { ScriptRunView } from '../../publish/views.ts';
import { EVENT_STREAM } from './viewer.ts';

/** Sends runs of published scripts to their users. All streams of a run share one look at its files. */
export class ScriptLive {
  readonly #watched = new Map<string, Watched>();
  #isDraining = false;

  /** Every event has the whole view, so a client that connects again has missed nothing. */
  follow(runId: string, to: ServerResponse, view: () => ScriptRunView): void {
    if (to.destroyed || to.socket?.destroyed) return;
    to.writeHead(200, EVENT_STREAM);
    const watched = this.#watched.get(runId) ?? this.#watch(runId, view);
    const sent = { text: '', quietMs: 0 };
    watched.streams.set(to, sent);
    to.on('error', () => to.destroy());
    to.once('close', () => {
      watched.streams.delete(to);
      if (watched.streams.size > 0) return;
      clearInterval(watched.timer);
      if (this.#watched.get(runId) === watched) this.#watched.delete(runId);
    });
    this.#send(to, sent, lookAt(view));
  }

  /** Ends the streams of runs that will not start before the next server. */
  drain(): void {
    this.#isDraining = true;
  }

  #watch(runId: string, view: () => ScriptRunView): Watched {
    const streams: Watched['streams'] = new Map();
    const timer = setInterval(() => {
      const look = lookAt(view);
      for (const [to, sent] of streams) this.#send(to, sent, look);
    }, LOOK_MS);
    const watched = { streams, timer };
    this.#watched.set(runId, watched);
    return watched;
  }

  #send(to: ServerResponse, sent: Sent, look: Look | undefined): void {
    sent.quietMs += LOOK_MS;
    // A client that does not read gets the newest view later, instead of all of them. An ended stream never needs a drain.
    if (to.writableEnded || to.writableNeedDrain) return;
    if (!look) {
      to.end();
      return;
    }
    if (look.text !== sent.text || sent.quietMs >= QUIET_MS_MAX) {
      sent.text = look.text;
      sent.quietMs = 0;
      to.write(look.event);
    }
    if (look.state === 'waiting') {
      if (this.#isDraining) to.end();
    } else if (look.state !== 'running') to.end('event: ended\ndata: {}\n\n');
  }
}

interface Watched {
  readonly streams: Map<ServerResponse, Sent>;
  readonly timer: NodeJS.Timeout;
}

/** What a stream has been sent. */
interface Sent {
  text: string;
  quietMs: number;
}

interface Look {
  readonly state: ScriptRunView['state'];
  /** The view without what changes all the time. */
  readonly text: string;
  readonly event: string;
}

const LOOK_MS = 500;
/** Proxies close connections that stay quiet for a minute. */
const QUIET_MS_MAX = 20_000;

/** Undefined if the run cannot be read. */
function lookAt(view: () => ScriptRunView): Look | undefined {
  try {
    const now = view();
    const { elapsed_ms: _, ...lasting } = now;
    return { state: now.state, text: JSON.stringify(lasting), event: `event: view\ndata: ${JSON.stringify(now)}\n\n` };
  } catch {
    return undefined;
  }
}
