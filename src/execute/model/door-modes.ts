import type { IncomingHttpHeaders } from 'node:http';
import { Masker, type Masking, needlesOf } from '../../base/masker.ts';
import type { Needles } from '../../base/needles.ts';
import type { Api, RecordedRequest } from '../../contracts/recording/index.ts';
import { apiError } from './api-error.ts';
import { asked, recordedBytes, keptBytes } from './recorded-body.ts';
import type { DoorLimits, DoorMode } from './door.ts';
import { type Recorded, Recorder } from './recorder.ts';
import { Replay } from './replay.ts';
import { Upstream, UpstreamError } from './upstream.ts';

interface Asking {
  readonly method: RecordedRequest['method'];
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Aborts when the agent disconnects. */
  readonly signal: AbortSignal;
}

/** An answer that streams its body. */
export interface ModelAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Buffer> | Iterable<Buffer>;
  /** Why this is not an answer from the model. */
  readonly problem?: string;
  readonly masked?: () => number;
  /** `keep` gets every piece before it is sent; `over` is called once at the end. */
  readonly keep?: (chunk: Buffer) => void;
  readonly over?: (isWhole: boolean) => void;
}

/** The source of a proxy's answers. */
export interface Answerer {
  /** Undefined if the agent disconnected before there was an answer. */
  answer(asking: Asking): Promise<ModelAnswer | undefined>;
  readonly difference: string | undefined;
  readonly unasked: number;
  close(): Promise<Recorded | undefined>;
}

export function answererOf(mode: DoorMode, api: Api, limits: DoorLimits, masking: Masking): Answerer {
  if (mode.kind === 'replay') return new Replayer(new Replay(mode.recording), api, masking);
  const upstream = new Upstream(mode.upstream, limits);
  const { key: sent, headers = {} } = mode.upstream;
  const key = needlesOf([...(sent === undefined ? [] : [sent]), ...Object.values(headers)]);
  if (mode.kind === 'live') return new Live(upstream, api, LIVE, key);
  const recorder = new Recorder(mode.file, { ...mode.header, api }, limits.recordingBytesMax);
  return new Taped(new Live(upstream, api, RECORDED, key), recorder, masking);
}

/** A Proctor error in the format of the API. */
export function failed(api: Api, status: number, problem: string): ModelAnswer {
  const headers = { 'content-type': 'application/json', ...(status < 500 && { 'x-should-retry': 'false' }) };
  return { status, headers, body: [Buffer.from(apiError(api, status, problem))], problem };
}

/** Forwards requests to the model API. */
class Live implements Answerer {
  readonly difference = undefined;
  readonly unasked = 0;
  readonly #upstream: Upstream;
  readonly #api: Api;
  readonly #passed: RegExp;
  readonly #key: Needles;

  constructor(upstream: Upstream, api: Api, passed: RegExp, key: Needles) {
    this.#upstream = upstream;
    this.#api = api;
    this.#passed = passed;
    this.#key = key;
  }

  async answer(asking: Asking): Promise<ModelAnswer | undefined> {
    try {
      const { statusCode, headers, body } = await this.#upstream.ask(asking);
      const masker = new Masker(this.#key);
      const passed = Object.entries(headers).filter(([name, value]) => value !== undefined && this.#passed.test(name));
      return {
        status: statusCode,
        headers: Object.fromEntries(passed.map(([name, value]) => [name, this.#safe([value].flat().join(', '))])),
        body: withoutKey(body, masker),
        masked: () => masker.masked,
      };
    } catch (error) {
      if (asking.signal.aborted) return undefined;
      if (error instanceof UpstreamError) return failed(this.#api, 502, error.message);
      throw error;
    }
  }

  #safe(text: string): string {
    return new Masker(this.#key).whole(Buffer.from(text, 'latin1')).toString('latin1');
  }

  async close(): Promise<undefined> {
    await this.#upstream.close();
  }
}

/** Some servers echo credentials in their answers. The agent must not see the key. */
async function* withoutKey(body: AsyncIterable<Buffer>, masker: Masker): AsyncGenerator<Buffer> {
  for await (const chunk of body) yield* masker.pieces(chunk);
  const rest = masker.end();
  if (rest.length > 0) yield rest;
}

const LIVE =
  /^(?:content-type|retry-after(?:-ms)?|x-should-retry|(?:x-)?request-id|(?:anthropic|openai|x-ratelimit)-.*)$/;

/** Response headers during recording: the same as in a replay, so that the agent behaves the same. */
const RECORDED = /^(?:content-type|retry-after(?:-ms)?)$/;

/** Forwards requests to the model API and records the exchange. */
class Taped implements Answerer {
  readonly difference = undefined;
  readonly unasked = 0;
  readonly #live: Live;
  readonly #recorder: Recorder;
  readonly #masking: Masking;
  /** Bytes of unfinished answers. */
  #heldBytes = 0;

  constructor(live: Live, recorder: Recorder, masking: Masking) {
    this.#live = live;
    this.#recorder = recorder;
    this.#masking = masking;
  }

  async answer(asking: Asking): Promise<ModelAnswer | undefined> {
    const { request, masked } = asked(asking.method, asking.path, asking.body, this.#masking);
    const seq = this.#recorder.request(request, masked);
    const answer = await this.#live.answer(asking);
    if (answer) return { ...answer, ...this.#tape(seq, answer) };
    this.#recorder.response(seq, null, 0);
    return undefined;
  }

  #tape(seq: number, { status, headers, masked: before }: ModelAnswer): Required<Pick<ModelAnswer, 'keep' | 'over'>> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    return {
      keep: chunk => {
        if (this.#heldBytes + chunk.length > this.#recorder.room) {
          this.#recorder.cut();
          return;
        }
        chunks.push(chunk);
        bytes += chunk.length;
        this.#heldBytes += chunk.length;
      },
      over: complete => {
        this.#heldBytes -= bytes;
        const { body, masked } = keptBytes(Buffer.concat(chunks), this.#masking, !complete);
        const content_type = typeOf(headers['content-type']);
        this.#recorder.response(seq, { status, content_type, body, complete }, masked + (before?.() ?? 0));
      },
    };
  }

  async close(): Promise<Recorded> {
    await this.#live.close();
    return this.#recorder.finish();
  }
}

function typeOf(header: string | undefined): string | null {
  return header !== undefined && /^[ -~]{1,200}$/.test(header) ? header : null;
}

/** Answers from a recording. */
class Replayer implements Answerer {
  readonly #replay: Replay;
  readonly #api: Api;
  readonly #masking: Masking;

  constructor(replay: Replay, api: Api, masking: Masking) {
    this.#replay = replay;
    this.#api = api;
    this.#masking = masking;
  }

  get difference(): string | undefined {
    return this.#replay.difference;
  }

  get unasked(): number {
    return this.#replay.left;
  }

  async answer({ method, path, body, signal }: Asking): Promise<ModelAnswer | undefined> {
    const replayed = this.#replay.ask(asked(method, path, body, this.#masking).request);
    // Agents do not retry after a 400.
    if (replayed.kind === 'different') return failed(this.#api, 400, `${replayed.says}.`);
    const { response } = replayed.exchange;
    if (response === null) {
      // During recording, the agent disconnected before there was an answer.
      if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
      return undefined;
    }
    const headers = response.content_type === null ? {} : { 'content-type': response.content_type };
    return { status: response.status, headers, body: pieces(recordedBytes(response.body), response.complete) };
  }

  async close(): Promise<undefined> {}
}

function* pieces(bytes: Buffer, isComplete: boolean): Generator<Buffer> {
  if (bytes.length > 0) yield bytes;
  if (!isComplete) throw new UpstreamError('The recorded answer is incomplete.');
}
