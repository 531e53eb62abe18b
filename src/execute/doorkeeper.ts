import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Api, RecordedRequest } from '../contracts/recording/index.ts';
import type { ModelSpeech } from '../contracts/agent-step/reading.ts';
import type { DoorLimits, DoorStats } from './door.ts';
import { type Answer, type Answerer, failed } from './door-modes.ts';
import { troubleOf, UpstreamTrouble } from './upstream.ts';

/** Lets requests in that may be, and brings answers back. Whoever asks may be hostile: it never throws. */
export class Doorkeeper {
  readonly #token: Buffer;
  readonly #api: Api;
  readonly #limits: DoorLimits;
  readonly #answerer: Answerer;
  readonly #underWay = new Set<Promise<void>>();
  #heldBytes = 0;
  #requests = 0;
  #failures = 0;
  #bytesAsked = 0;
  #bytesAnswered = 0;
  #problem: string | undefined;
  #answers = 0;
  /** Told of every request, and of every one that failed. */
  onCount: (() => void) | undefined;
  onSpeech: ((speech: ModelSpeech) => void) | undefined;

  constructor(token: string, api: Api, limits: DoorLimits, answerer: Answerer) {
    this.#token = digestOf(token);
    this.#api = api;
    this.#limits = limits;
    this.#answerer = answerer;
  }

  stats(): DoorStats {
    return {
      requests: this.#requests,
      failures: this.#failures,
      bytesAsked: this.#bytesAsked,
      bytesAnswered: this.#bytesAnswered,
      problem: this.#problem,
    };
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    for (const stream of [request, response]) stream.on('error', () => undefined);
    this.#requests++;
    this.onCount?.();
    const work = this.#serve(request, response).catch(() => {
      this.#note('A request could not be answered.');
      response.destroy();
    });
    this.#underWay.add(work);
    void work.then(() => this.#underWay.delete(work));
  }

  /** Until nothing is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hungUp = new AbortController();
    response.on('close', () => hungUp.abort());
    const refusal = this.#refusalOf(request);
    if (refusal) {
      // What else it has to say is not read.
      response.setHeader('connection', 'close');
      await this.#send(refusal, response, hungUp.signal);
      return;
    }
    const body = await this.#bodyOf(request);
    try {
      const { url: path = '', headers } = request;
      const method = request.method as RecordedRequest['method'];
      const answer = Buffer.isBuffer(body)
        ? await this.#answerer.answer({ method, path, headers, body, signal: hungUp.signal })
        : body;
      if (!answer) this.#fail();
      else await this.#send(answer, response, hungUp.signal);
    } finally {
      if (Buffer.isBuffer(body)) this.#heldBytes -= body.length;
    }
  }

  #refusalOf({ method = '', url = '', headers }: IncomingMessage): Answer | undefined {
    const refuse = (status: number, why: string): Answer => failed(this.#api, status, why);
    if (!this.#isKnown(headers)) return refuse(401, 'A request came without the token of the door.');
    if (this.#underWay.size >= this.#limits.requestsAtOnce) return refuse(503, 'Too many requests came at once.');
    if (!METHODS.has(method)) return refuse(405, 'A request had a method that the door does not know.');
    if (!isPlainPath(url)) return refuse(400, 'A request had a path that the door does not let through.');
    if (Number(headers['content-length'] ?? 0) > this.#limits.requestBytesMax) return this.#tooLarge();
    return undefined;
  }

  #tooLarge(): Answer {
    return failed(this.#api, 413, `A request had more than ${this.#limits.requestBytesMax} bytes.`);
  }

  #isKnown(headers: IncomingHttpHeaders): boolean {
    const { authorization = '', 'x-api-key': key = '' } = headers;
    const words = [String(key), authorization.replace(/^Bearer /i, '')];
    return words.map(word => timingSafeEqual(digestOf(word), this.#token)).includes(true);
  }

  /** The body of a request; or what is said of one that is too large, or nothing if it never came whole. */
  async #bodyOf(request: IncomingMessage): Promise<Buffer | Answer | undefined> {
    const chunks: Buffer[] = [];
    let length = 0;
    let refusal: Answer | undefined;
    try {
      // Leaving the loop must not end the connection, on which the refusal goes back.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        length += chunk.length;
        this.#heldBytes += chunk.length;
        this.#bytesAsked += chunk.length;
        if (length > this.#limits.requestBytesMax) refusal = this.#tooLarge();
        else if (this.#heldBytes > HELD_BYTES_MAX) refusal = failed(this.#api, 503, 'Too much was asked at once.');
        if (refusal) break;
      }
    } catch {
      this.#heldBytes -= length;
      return undefined;
    }
    if (!refusal) return Buffer.concat(chunks);
    this.#heldBytes -= length;
    return refusal;
  }

  async #send(answer: Answer, response: ServerResponse, hungUp: AbortSignal): Promise<void> {
    if (answer.problem !== undefined) this.#note(answer.problem);
    let isWhole = false;
    let bytes = 0;
    const isAnswer = answer.status < FIRST_ERROR && response.req.method === 'POST';
    const answersBefore = this.#answers;
    try {
      response.writeHead(answer.status, answer.headers);
      response.flushHeaders();
      for await (const chunk of answer.body) {
        if (isAnswer) this.onSpeech?.({ isFirst: bytes === 0, answersBefore });
        bytes += chunk.length;
        if (bytes > this.#limits.answerBytesMax)
          throw new UpstreamTrouble(`An answer had more than ${this.#limits.answerBytesMax} bytes.`);
        answer.keep?.(chunk);
        this.#bytesAnswered += chunk.length;
        if (!response.write(chunk)) await drained(response);
        if (hungUp.aborted) break;
      }
      isWhole = !hungUp.aborted;
    } catch (error) {
      if (!hungUp.aborted) this.#note(error instanceof UpstreamTrouble ? error.message : troubleOf(error));
    } finally {
      answer.over?.(isWhole);
    }
    if (isWhole && isAnswer) this.#answers++;
    if (isWhole) response.end();
    // What was written before it broke off still goes out.
    else response.socket?.destroySoon();
    if (!isWhole || answer.problem !== undefined) this.#fail();
  }

  #fail(): void {
    this.#failures++;
    this.onCount?.();
  }

  #note(problem: string): void {
    this.#problem ??= problem;
  }
}

const FIRST_ERROR = 400;
const METHODS: ReadonlySet<string> = new Set<RecordedRequest['method']>(['GET', 'HEAD', 'POST']);

/** Bodies of requests that are under way, all together. */
const HELD_BYTES_MAX = 256 * 1024 * 1024;

function digestOf(word: string): Buffer {
  return createHash('sha256').update(word).digest();
}

/** One that stays below the address of the API whoever reads it: no way up, nothing empty, and no other host. */
function isPlainPath(url: string): boolean {
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  return PATH.test(path) && !CLIMBS.test(path) && QUERY.test(query) && url.length <= URL_UNITS_MAX;
}

const PATH = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+\/?$/;
const QUERY = /^[!"$-~]*$/;
const CLIMBS = /\/(?:\.|%2e){1,2}(?:\/|$)|%(?:2f|5c|00)/i;
const URL_UNITS_MAX = 8_192;

/** Until more can be written, or nobody listens any more. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    if (response.destroyed) done();
    else response.on('drain', done).on('close', done);
  });
}
