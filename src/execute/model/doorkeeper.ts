import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Api, RecordedRequest } from '../../contracts/recording/index.ts';
import type { ModelOutput } from '../../contracts/agent-step/reading.ts';
import type { DoorLimits, DoorStats } from './door.ts';
import { type ModelAnswer, type Answerer, failed } from './door-modes.ts';
import type { ModelRequest } from '../gateway/ask.ts';
import { type RequestFilter, type GateRequest, whereOf } from '../gateway/request-filter.ts';
import { Refused } from '../gateway/refused.ts';
import { QuestionDetector } from './question-detector.ts';
import { connectionFailure, UpstreamError } from './upstream.ts';

/** Checks requests, forwards them and returns the answers. It never throws, because requests may be hostile. */
export class Doorkeeper {
  readonly #token: Buffer;
  readonly #api: Api;
  readonly #limits: DoorLimits;
  readonly #gate: RequestFilter;
  readonly #answerer: Answerer;
  readonly #underWay = new Set<Promise<void>>();
  #heldBytes = 0;
  #requests = 0;
  #failures = 0;
  #bytesAsked = 0;
  #bytesAnswered = 0;
  #problem: string | undefined;
  #answers = 0;
  onCount: (() => void) | undefined;
  onSpeech: ((speech: ModelOutput) => void) | undefined;
  /** Tools with which a model asks the user, and the callback. */
  questions: { readonly tools: readonly string[]; readonly tell: (tool: string) => void } | undefined;

  constructor(token: string, api: Api, limits: DoorLimits, gate: RequestFilter, answerer: Answerer) {
    this.#token = digestOf(token);
    this.#api = api;
    this.#limits = limits;
    this.#gate = gate;
    this.#answerer = answerer;
  }

  stats(): DoorStats {
    return {
      requests: this.#requests,
      failures: this.#failures,
      bytesAsked: this.#bytesAsked,
      bytesAnswered: this.#bytesAnswered,
      problem: this.#problem,
      ...this.#gate.stats(),
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

  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hungUp = new AbortController();
    response.on('close', () => hungUp.abort());
    const refused = this.#refusalOf(request);
    if (refused) {
      // The rest of the request is not read.
      response.setHeader('connection', 'close');
      await this.#refuse(refused, request, response, hungUp.signal);
      return;
    }
    const body = await this.#bodyOf(request);
    try {
      if (Buffer.isBuffer(body)) await this.#handOn(request, body, response, hungUp.signal);
      else if (body) await this.#refuse(body, request, response, hungUp.signal);
      else this.#fail();
    } finally {
      if (Buffer.isBuffer(body)) this.#heldBytes -= body.length;
    }
  }

  /** Forwards the permitted part of a request and sends the answer back. */
  async #handOn(request: IncomingMessage, body: Buffer, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { url = '', headers } = request;
    const method = request.method as RecordedRequest['method'];
    const passed = this.#passed({ method, url, headers, body });
    if (passed instanceof Refused) return this.#refuse(passed, request, response, signal);
    const { ask, ...going } = passed;
    let answer: ModelAnswer | undefined;
    try {
      answer = await this.#answerer.answer({ method, path: url, ...going, signal });
    } finally {
      if (!answer) ask?.over({ isWhole: false, isHungUp: signal.aborted, says: 'A request could not be answered.' });
    }
    if (answer) return this.#send(answer, response, signal, ask);
    this.#fail();
  }

  #passed(request: GateRequest): Refused | ReturnType<RequestFilter['pass']> {
    try {
      return this.#gate.pass(request);
    } catch (error) {
      if (error instanceof Refused) return error;
      throw error;
    }
  }

  async #refuse(
    refused: Refused,
    { method = '', url = '' }: IncomingMessage,
    response: ServerResponse,
    hungUp: AbortSignal,
  ): Promise<void> {
    const { status, sentence } = this.#gate.refuse(refused, { method, url });
    await this.#send(failed(this.#api, status, sentence), response, hungUp);
  }

  #refusalOf({ method = '', url = '', headers }: IncomingMessage): Refused | undefined {
    if (!this.#isKnown(headers))
      return new Refused('token', 'request', "A request did not carry this run's token", 401);
    if (this.#underWay.size >= this.#limits.requestsAtOnce)
      return new Refused('load', 'request', 'Too many requests at once', 503);
    if (!isPlainPath(url)) return new Refused('endpoint', 'request', 'A request used a path that is not allowed');
    if (!METHODS.has(method))
      return new Refused('endpoint', whereOf({ method, url }), 'A request used a method that is not allowed', 405);
    if (Number(headers['content-length'] ?? 0) > this.#limits.requestBytesMax) return this.#tooLarge();
    return undefined;
  }

  #tooLarge(): Refused {
    return new Refused('size', 'request', `A request exceeded ${this.#limits.requestBytesMax} bytes`, 413);
  }

  #isKnown(headers: IncomingHttpHeaders): boolean {
    const { authorization = '', 'x-api-key': key = '' } = headers;
    const words = [String(key), authorization.replace(/^Bearer /i, '')];
    return words.map(word => timingSafeEqual(digestOf(word), this.#token)).includes(true);
  }

  /** The body of a request, a refusal if it is too large, or undefined if it is incomplete. */
  async #bodyOf(request: IncomingMessage): Promise<Buffer | Refused | undefined> {
    const chunks: Buffer[] = [];
    let length = 0;
    let refusal: Refused | undefined;
    try {
      // Leaving the loop must not close the connection, which still carries the refusal.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        length += chunk.length;
        this.#heldBytes += chunk.length;
        this.#bytesAsked += chunk.length;
        if (length > this.#limits.requestBytesMax) refusal = this.#tooLarge();
        else if (this.#heldBytes > HELD_BYTES_MAX)
          refusal = new Refused('load', 'request', 'The open requests together are too large', 503);
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

  async #send(answer: ModelAnswer, response: ServerResponse, hungUp: AbortSignal, ask?: ModelRequest): Promise<void> {
    if (answer.problem !== undefined) this.#note(answer.problem);
    else ask?.answered(answer.status, answer.headers['content-type']);
    let isWhole = false;
    let broke: string | undefined;
    let bytes = 0;
    const isAnswer = ask !== undefined && answer.status < FIRST_ERROR;
    const answersBefore = this.#answers;
    const ear = this.questions && new QuestionDetector(this.questions.tools);
    try {
      response.writeHead(answer.status, answer.headers);
      response.flushHeaders();
      for await (const chunk of answer.body) {
        if (isAnswer) this.onSpeech?.({ isFirst: bytes === 0, answersBefore });
        bytes += chunk.length;
        if (bytes > this.#limits.answerBytesMax)
          throw new UpstreamError(`An answer exceeded ${this.#limits.answerBytesMax} bytes.`);
        answer.keep?.(chunk);
        ear?.take(chunk);
        ask?.take(chunk);
        this.#bytesAnswered += chunk.length;
        if (!response.write(chunk)) await drained(response);
        if (hungUp.aborted) break;
      }
      isWhole = !hungUp.aborted;
    } catch (error) {
      broke = error instanceof UpstreamError ? error.message : connectionFailure(error);
      if (!hungUp.aborted) this.#note(broke);
    } finally {
      answer.over?.(isWhole);
      ask?.over({ isWhole, isHungUp: hungUp.aborted, says: answer.problem ?? broke ?? null });
    }
    // An answer counts even if the agent disconnected: agents often do so right after the last event.
    if (isAnswer && bytes > 0 && (isWhole || hungUp.aborted)) this.#answers++;
    if (isWhole) response.end();
    // Flushes what was written before the failure.
    else response.socket?.destroySoon();
    if (ear?.heard !== undefined) this.questions?.tell(ear.heard);
    if (!isWhole || answer.problem !== undefined || answer.status >= FIRST_ERROR) this.#fail();
    else this.onCount?.();
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

const HELD_BYTES_MAX = 256 * 1024 * 1024;

function digestOf(word: string): Buffer {
  return createHash('sha256').update(word).digest();
}

/** Whether every parser resolves a URL to a path below the API's address: no `..`, no empty segment, no other host. */
function isPlainPath(url: string): boolean {
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  return PATH.test(path) && !CLIMBS.test(path) && QUERY.test(query) && url.length <= URL_UNITS_MAX;
}

const PATH = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+\/?$/;
const QUERY = /^[!"$-~]*$/;
const CLIMBS = /\/(?:\.|%2e){1,2}(?:\/|$)|%(?:2f|5c|00)/i;
const URL_UNITS_MAX = 8_192;

/** Resolves when more can be written, or when the connection has closed. */
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
