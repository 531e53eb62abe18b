import type { IncomingHttpHeaders } from 'node:http';
import { ModelRequest, type AskEnd } from './ask.ts';
import { Budget, type BudgetLimits, type Spent } from './budget.ts';
import { type Endpoint, endpointOf, type Gateway } from './gateway.ts';
import { judgeBody, modelIn } from './judge-body.ts';
import { Refused } from './refused.ts';
import { BoundedTally, type Tallied } from './tally.ts';

export interface RequestFilterOptions {
  readonly gateway: Gateway;
  /** With an open network, an agent can reach other servers without its model, so bodies are not checked. */
  readonly network: 'deny' | 'allow';
  readonly budget: BudgetLimits;
  readonly requestBytesMax: number;
  readonly mask: (text: string) => string;
}

export interface GateStats {
  readonly refused: Tallied;
  readonly stripped: Tallied;
  readonly spent: Spent;
  /** The end of the last model request; null if there was none. Requests that the agent aborted do not count. */
  readonly lastAsk: AskEnd | null;
}

export interface GateRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Passed {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Set if the request makes the model answer. */
  readonly ask: ModelRequest | undefined;
}

/** Decides which requests go to the model API, and counts them. */
export class RequestFilter {
  readonly #options: RequestFilterOptions;
  readonly #budget: Budget;
  readonly #refused = new BoundedTally();
  readonly #stripped = new BoundedTally();
  #lastAsk: AskEnd | null = null;

  constructor(options: RequestFilterOptions) {
    this.#options = options;
    this.#budget = new Budget(options.budget);
  }

  /** Called once, when a request is refused because the budget is used up. */
  set onOver(tell: (sentence: string) => void) {
    this.#budget.onOver = tell;
  }

  stats(): GateStats {
    return {
      refused: this.#refused.told(),
      stripped: this.#stripped.told(),
      spent: this.#budget.spent(),
      lastAsk: this.#lastAsk,
    };
  }

  /** The permitted part of a request. Throws `Refused`. */
  pass(request: GateRequest): Passed {
    const { method, url } = request;
    const endpoint = endpointOf(this.#options.gateway, method, url);
    if (!endpoint) throw new Refused('endpoint', whereOf(request), 'A request used an endpoint that is not allowed');
    return this.#passTo(endpoint, request);
  }

  /** Records a refused request and returns the masked refusal. */
  refuse(refused: Refused, { method, url }: Pick<GateRequest, 'method' | 'url'>): Refused {
    const told = refused.masked(this.#options.mask);
    this.#refused.add(told.what, told.where);
    const isAsk = told.what !== 'token' && endpointOf(this.#options.gateway, method, url)?.use === 'ask';
    if (isAsk) this.#lastAsk = { status: null, isWhole: false, says: told.sentence };
    return told;
  }

  #passTo(endpoint: Endpoint, request: GateRequest): Passed {
    const { headers, body } = request;
    const { 'content-encoding': encoding = 'identity' } = headers;
    if (this.#reads() && encoding.toLowerCase() !== 'identity')
      throw new Refused('encoding', whereOf(request), 'A request used an unsupported encoding for its body');
    if (endpoint.use === 'list') return this.#passList(headers, body);
    const { gateway, network, requestBytesMax, mask } = this.#options;
    const isClosed = network === 'deny';
    const judged = isClosed
      ? judgeBody(body, gateway.body, endpoint, requestBytesMax)
      : { bytes: body, model: this.#reads() ? modelIn(body, requestBytesMax) : undefined, stripped: new Map() };
    const model = judged.model ?? gateway.modelInPath?.exec(request.url)?.[1];
    const ask = endpoint.use === 'ask' ? this.#ask(judged.bytes, model) : undefined;
    for (const [path, times] of judged.stripped) this.#stripped.add('body', mask(path), times);
    return { headers: isClosed ? this.#withoutFeatures(headers) : headers, body: judged.bytes, ask };
  }

  #passList(headers: IncomingHttpHeaders, body: Buffer): Passed {
    if (body.length > 0) throw new Refused('body', 'body', 'A request contained an unexpected body');
    return { headers, body, ask: undefined };
  }

  #ask(bytes: Buffer, model: string | undefined): ModelRequest {
    return new ModelRequest(this.#options.gateway, this.#budget.admit(bytes.length, model), end => {
      this.#lastAsk = end;
    });
  }

  #reads(): boolean {
    return this.#options.network === 'deny' || this.#budget.needsModel;
  }

  #withoutFeatures(headers: IncomingHttpHeaders): IncomingHttpHeaders {
    const { features } = this.#options.gateway;
    const said = features && headers[features.header];
    if (!features || said === undefined) return headers;
    const words = [said]
      .flat()
      .join(',')
      .split(',')
      .map(word => word.trim())
      .filter(word => word !== '');
    const kept = words.filter(word => !features.dropped.test(word));
    if (kept.length === words.length) return headers;
    this.#stripped.add('header', features.header, words.length - kept.length);
    const { [features.header]: _, ...rest } = headers;
    return kept.length > 0 ? { ...rest, [features.header]: kept.join(',') } : rest;
  }
}

/** The endpoint of a request, as shown in evidence: no query, at most 180 characters of path. */
export function whereOf({ method, url }: Pick<GateRequest, 'method' | 'url'>): string {
  return `${method} ${url.replace(/\?.*$/s, '').slice(0, WHERE_UNITS_MAX)}`;
}

const WHERE_UNITS_MAX = 180;
