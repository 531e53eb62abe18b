import type {
  AgentEvent,
  AgentReading,
  AgentUsage,
  EndFacts,
  LineReading,
  ModelOutput,
} from '../contracts/agent-step/reading.ts';
import type { ReaderOptions } from './agent.ts';
import { Calls, Denials } from './calls.ts';
import { blockIn, callOf, COMMAND, changesOf, isTool, itemName, outcomeOf } from './codex-items.ts';
import { brief, clipped, countIn, objectIn, type StreamObject, statusIn, textIn } from './json-values.ts';
import { ALIVE, alive, PROMPT, type Protocol, progress } from './stream.ts';

/** Reads the lines of `codex exec --json`. */
export class CodexProtocol implements Protocol {
  readonly calls = new Calls();
  readonly denials = new Denials();
  readonly #turnsMax: number;
  readonly #isGuarded: (path: string) => boolean;
  readonly #turns = new Turns();
  #tokens: Tokens | undefined;
  #session: string | null = null;
  #lastMessage: string | null = null;
  #terminal: AgentReading['terminal'] = null;
  #failure: AgentReading['failure'] = null;
  /** The last API error, until the agent makes progress again. */
  #apiError: AgentReading['failure'] = null;

  constructor({ maxTurns, isGuarded }: Pick<ReaderOptions, 'maxTurns' | 'isGuarded'>) {
    this.#turnsMax = maxTurns ?? Number.POSITIVE_INFINITY;
    this.#isGuarded = isGuarded ?? (() => false);
  }

  line(said: StreamObject, number: number): LineReading | undefined {
    const item = objectIn(said.item);
    switch (said.type) {
      case 'item.started':
        return item && this.#itemStarted(item);
      case 'item.updated':
      case 'item.plan.delta':
        return progress([]);
      case 'item.completed':
        return item && this.#itemCompleted(item, number);
      case 'thread.started':
        this.#session = textIn(said.thread_id) === undefined ? this.#session : itemName(said.thread_id);
        return ALIVE;
      case 'turn.started':
        this.#turns.endAnswer();
        return ALIVE;
      case 'turn.completed':
        return this.#turnCompleted(said);
      case 'turn.failed':
        return this.#turnFailed(said);
      case 'error':
        return this.#error(textIn(said.message) ?? '');
      case 'request_user_input':
        return PROMPT;
      default:
        return undefined;
    }
  }

  heard({ isFirst, answersBefore }: ModelOutput): LineReading | undefined {
    // A new request means that Codex is no longer waiting for a command.
    if (isFirst) this.calls.leave(COMMAND);
    return answersBefore >= this.#turnsMax ? TOO_MANY_TURNS : undefined;
  }

  end({ lastMessage }: EndFacts): ReturnType<Protocol['end']> {
    return {
      terminal: this.#terminal,
      // Some failures leave an empty file.
      finalText: lastMessage || this.#lastMessage,
      failure: this.#terminal ? this.#failure : this.#apiError,
      usage: this.#usage(),
      session: this.#session,
      model: null,
    };
  }

  #itemStarted(item: StreamObject): LineReading {
    this.#turns.itemStarted();
    return this.#progress(isTool(item) ? [this.#called(item)] : []);
  }

  #itemCompleted(item: StreamObject, number: number): LineReading | undefined {
    const text = textIn(item.text)?.toWellFormed() ?? '';
    switch (item.type) {
      case 'agent_message':
        this.#turns.itemStarted();
        this.#lastMessage = text;
        return this.#progress([{ kind: 'message', role: 'assistant', body: clipped(text) }]);
      case 'reasoning':
        this.#turns.itemStarted();
        return this.#progress([{ kind: 'thinking', body: clipped(text) }]);
      case 'todo_list':
      case 'plan':
        return this.#progress([]);
      case 'error':
        return this.#warning(textIn(item.message) ?? '');
      default:
        return isTool(item) ? this.#toolCompleted(item, number) : undefined;
    }
  }

  #called(item: StreamObject): AgentEvent {
    const event = callOf(item);
    this.calls.begin(event.call, { tool: event.tool, path: event.path });
    return event;
  }

  #toolCompleted(item: StreamObject, number: number): LineReading {
    const call = itemName(item.id);
    const events: AgentEvent[] = [];
    if (!this.calls.get(call)) {
      this.#turns.itemStarted();
      events.push(this.#called(item));
    }
    const { tool, path = null } = this.calls.get(call) ?? { tool: itemName(item.type) };
    const block = blockIn(item, this.#isGuarded);
    if (block)
      events.push(...this.denials.add({ ...block, tool, call, path: block.path ?? path, native_line: number }));
    const outcome = outcomeOf(item, call);
    events.push(outcome, ...(outcome.ok ? changesOf(item) : []));
    const isNewest = this.calls.isNewest(call);
    this.calls.end(call);
    if (isNewest || this.calls.isEmpty) this.#turns.endAnswer();
    return this.#progress(events);
  }

  #progress(events: readonly AgentEvent[]): LineReading {
    this.#apiError = null;
    return this.#turns.count > this.#turnsMax ? { ...TOO_MANY_TURNS, events } : progress(events);
  }

  /** An `error` item never ends a run. One kind reports a fallback to another transport. */
  #warning(message: string): LineReading {
    if (message.startsWith('Falling back')) return this.#retry(message);
    return alive({ kind: 'note', level: 'warning', text: brief(message) });
  }

  #error(message: string): LineReading {
    if (RETRY.test(message)) return this.#retry(message);
    this.#apiError = failureOf(message);
    return alive({ kind: 'note', level: 'error', text: brief(message) });
  }

  #retry(message: string): LineReading {
    const failure = failureOf(message);
    this.#apiError = failure;
    const digits = /^Reconnecting\.{3} (\d{1,6})\//.exec(message)?.[1];
    const attempt = digits === undefined ? null : Number(digits);
    return alive({ kind: 'retry', attempt, status: failure.status, message: brief(message) });
  }

  #turnCompleted(said: StreamObject): LineReading {
    const usage = objectIn(said.usage);
    if (usage) this.#tokens = sumOf(this.#tokens, usage);
    this.#terminal = { ok: true, word: 'turn.completed' };
    this.#failure = null;
    const body = this.#lastMessage === null ? null : clipped(this.#lastMessage);
    const events: AgentEvent[] = [
      { kind: 'usage', usage: this.#usage() },
      { kind: 'final', ok: true, body },
    ];
    return { events, sign: 'terminal' };
  }

  #turnFailed(said: StreamObject): LineReading {
    const failure = failureOf(textIn(objectIn(said.error)?.message) ?? '');
    this.#terminal = { ok: false, word: 'turn.failed' };
    this.#failure = failure;
    return { events: [{ kind: 'final', ok: false, body: clipped(failure.detail) }], sign: 'terminal' };
  }

  #usage(): AgentUsage {
    return {
      turns: this.#turns.count === 0 ? null : this.#turns.count,
      input_tokens: countIn(this.#tokens?.input),
      cached_input_tokens: countIn(this.#tokens?.cached),
      output_tokens: countIn(this.#tokens?.output),
      cost_usd: null,
    };
  }
}

/**
 * Estimates the number of model answers, because Codex calls a whole run one turn. A new answer starts with the first
 * item after the newest tool of the previous answer ended. Calls in one answer that Codex runs in sequence count
 * separately. Codex does not wait for a command in the background, so an older tool may never end.
 */
class Turns {
  count = 0;
  #isAnswerOver = true;

  itemStarted(): void {
    if (this.#isAnswerOver) this.count++;
    this.#isAnswerOver = false;
  }

  endAnswer(): void {
    this.#isAnswerOver = true;
  }
}

interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

function sumOf(before: Tokens | undefined, usage: StreamObject): Tokens {
  return {
    input: (before?.input ?? 0) + (countIn(usage.input_tokens) ?? 0),
    cached: (before?.cached ?? 0) + (countIn(usage.cached_input_tokens) ?? 0),
    output: (before?.output ?? 0) + (countIn(usage.output_tokens) ?? 0),
  };
}

const TOO_MANY_TURNS: LineReading = { events: [], sign: 'kill', reason: 'limit_turns' };

/** An `error` line that is not final: Codex retries, without limit if there is no network. */
const RETRY = /^Reconnecting|waiting for network/;

/** Codex reports errors as prose; some messages contain the HTTP status. */
function failureOf(message: string): NonNullable<AgentReading['failure']> {
  const status = statusIn(Number(/\bstatus (\d{3})\b/.exec(message)?.[1]));
  const isKeyMissing = status === 401 || message.startsWith('Missing environment variable');
  return { reason: isKeyMissing ? 'auth_missing' : 'api_error', status, detail: brief(message) };
}
