import { canonicalize } from '../../base/canonical.ts';
import { counted } from '../../base/counted.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import type { Exchange, RecordedRequest, Recording } from '../../contracts/recording/index.ts';
import { firstRequestDifference } from './difference.ts';
import { settledBody, settledText } from './volatile.ts';

export type ReplayAnswer =
  | { readonly kind: 'answered'; readonly exchange: Exchange }
  /** Which request differs from the recording, and where. */
  | { readonly kind: 'different'; readonly says: string };

/**
 * Answers requests from a recording, using each exchange once. Requests with the same method and path are answered in
 * recorded order. Concurrent requests may arrive in another order, so any of the next 64 that matches exactly, apart
 * from volatile parts, is used.
 */
export class Replay {
  readonly #recording: Recording;
  readonly #waiting: Asked[];
  #requests = 0;
  #difference: string | undefined;

  constructor(recording: Recording) {
    this.#recording = recording;
    this.#waiting = recording.exchanges.map(({ request }, index) => new Asked(request, index));
  }

  ask(request: RecordedRequest): ReplayAnswer {
    this.#requests++;
    // Every later difference is a consequence of the first.
    if (this.#difference === undefined) {
      const asked = new Asked(request, this.#requests);
      const next = this.#waiting.filter(({ lane }) => lane === asked.lane).slice(0, PARALLEL_MAX);
      const found = next.find(({ digest }) => digest === asked.digest);
      if (found) {
        this.#waiting.splice(this.#waiting.indexOf(found), 1);
        return { kind: 'answered', exchange: this.#recording.exchanges[found.index] as Exchange };
      }
      this.#difference = this.#told(asked, next);
    }
    return { kind: 'different', says: this.#difference };
  }

  get difference(): string | undefined {
    return this.#difference;
  }

  get left(): number {
    return this.#waiting.length;
  }

  #told(asked: Asked, next: readonly Asked[]): string {
    const which = `request ${this.#requests}`;
    const nearest = nearestOf(asked, next);
    if (nearest) {
      const body = firstRequestDifference(nearest.body, asked.body);
      const found = body ?? firstRequestDifference(nearest.query, asked.query) ?? { recorded: '', asked: '', path: '' };
      const at = body ? body.path || 'its body' : 'its query';
      return `${which} differs from the recording at ${at}: recorded ${found.recorded}, received ${found.asked}`;
    }
    const { exchanges, ended } = this.#recording;
    if (this.#waiting.length > 0) return `${which} is not in the recording, which has no more ${asked.lane} requests`;
    return `${which} is not in the recording, which has ${counted(exchanges.length, 'request')}${ENDS[ended]}`;
  }
}

/** The maximum number of an agent's concurrent requests. */
const PARALLEL_MAX = 64;

const ENDS: Readonly<Record<Recording['ended'], string>> = {
  whole: '',
  cut: ' and reached its size limit',
  interrupted: ' and was interrupted',
};

/** A request with its volatile parts replaced. */
class Asked {
  readonly index: number;
  /** Method and path. Requests in one lane are ordered. */
  readonly lane: string;
  readonly #request: RecordedRequest;
  #digest: ContentHash | undefined;

  constructor(request: RecordedRequest, index: number) {
    this.#request = request;
    this.index = index;
    this.lane = `${request.method} ${settledText(request.path.replace(/\?.*$/, ''))}`;
  }

  get body(): unknown {
    return settledBody(this.#request.body?.value ?? null);
  }

  get query(): string {
    return settledText(/\?.*$/.exec(this.#request.path)?.[0] ?? '');
  }

  get text(): string {
    return canonicalize({ body: this.body, query: this.query });
  }

  get digest(): ContentHash {
    this.#digest ??= bytesHash(this.text);
    return this.#digest;
  }
}

/** The most similar candidate: the one with the longest common prefix. */
function nearestOf(asked: Asked, next: readonly Asked[]): Asked | undefined {
  const { text } = asked;
  const lengths = next.map(one => commonLength(one.text, text));
  return next[lengths.indexOf(Math.max(...lengths))];
}

function commonLength(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}
