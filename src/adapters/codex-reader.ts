import type { AgentEvent, AgentReading, AgentUsage, LineReading } from '../contracts/agent-step/reading.ts';
import type { ReaderOptions } from './agent.ts';
import { Calls, Denials } from './calls.ts';
import { blockIn, callOf, COMMAND, changesOf, isTool, nameOf, outcomeOf } from './codex-items.ts';
import { brief, clipped, countIn, objectIn, type Said, statusIn, textIn } from './said.ts';
import { ALIVE, alive, type Protocol, progress } from './stream.ts';

/** The lines of `codex exec --json`. */
export function codexProtocol({
  maxTurns,
  isGuarded = () => false,
}: Pick<ReaderOptions, 'maxTurns' | 'isGuarded'>): Protocol {
  const calls = new Calls();
  const denials = new Denials();
  let session: string | null = null;
  let lastMessage: string | null = null;
  let terminal: AgentReading['terminal'] = null;
  let failure: AgentReading['failure'] = null;
  /** What the API last refused, while nothing has got on since. */
  let trouble: AgentReading['failure'] = null;
  const used = { input: 0, cached: 0, output: 0 };
  let isUsageTold = false;

  /**
   * Codex calls the whole of a run one turn, and does not tell how often it asked its model. A turn as others count it,
   * one answer of the model, is taken to begin with the first item, and with every item that begins after the newest tool
   * of the answer before has ended. Calls that one answer asks for, and Codex runs one after another, count as several. An
   * older tool may never end: Codex goes on while a command runs in the background. What the door hears bounds that.
   */
  let turns = 0;
  let isAnswerOver = true;

  function itemBegan(): void {
    if (!isAnswerOver) return;
    turns++;
    isAnswerOver = false;
  }

  function bounded(events: readonly AgentEvent[]): LineReading {
    trouble = null;
    if (maxTurns === undefined || turns <= maxTurns) return progress(events);
    return { ...TOO_MANY_TURNS, events };
  }

  function started(item: Said): LineReading {
    itemBegan();
    return bounded(isTool(item) ? began(item) : []);
  }

  function began(item: Said): AgentEvent[] {
    const call = callOf(item);
    calls.begin(call.call, { tool: call.tool, path: call.path });
    return [call];
  }

  function completed(item: Said, number: number): LineReading | undefined {
    const text = textIn(item.text)?.toWellFormed() ?? '';
    switch (item.type) {
      case 'agent_message':
        itemBegan();
        lastMessage = text;
        return bounded([{ kind: 'message', role: 'assistant', body: clipped(text) }]);
      case 'reasoning':
        itemBegan();
        return bounded([{ kind: 'thinking', body: clipped(text) }]);
      case 'todo_list':
      case 'plan':
        return bounded([]);
      case 'error':
        return warned(textIn(item.message) ?? '');
      default:
        return isTool(item) ? ended(item, number) : undefined;
    }
  }

  function ended(item: Said, number: number): LineReading {
    const call = nameOf(item.id);
    const known = calls.get(call);
    if (!known) itemBegan();
    const events: AgentEvent[] = known ? [] : began(item);
    const { tool, path = null } = calls.get(call) ?? { tool: nameOf(item.type) };
    const outcome = outcomeOf(item, call);
    const block = blockIn(item, isGuarded);
    if (block) {
      const { reason } = block;
      const denial = { ...block, tool, call, path: block.path ?? path, native_line: number };
      if (denials.add(denial)) events.push({ kind: 'denial', call, tool, reason });
    }
    events.push(outcome, ...(outcome.ok ? changesOf(item) : []));
    const isNewest = calls.isNewest(call);
    calls.end(call);
    if (isNewest || calls.isEmpty) isAnswerOver = true;
    return bounded(events);
  }

  /** An item of this type is a warning, and never the end; one of them tells of another way to the model. */
  function warned(message: string): LineReading {
    if (message.startsWith('Falling back')) return retried(message);
    return alive({ kind: 'note', level: 'warning', text: brief(message) });
  }

  function retried(message: string): LineReading {
    trouble = troubleOf(message);
    const attempt = /^Reconnecting\.{3} (\d{1,6})\//.exec(message)?.[1];
    return alive({
      kind: 'retry',
      attempt: attempt === undefined ? null : Number(attempt),
      status: trouble.status,
      message: brief(message),
    });
  }

  function errorLine(message: string): LineReading {
    if (RETRY.test(message)) return retried(message);
    trouble = troubleOf(message);
    return alive({ kind: 'note', level: 'error', text: brief(message) });
  }

  function usage(): AgentUsage {
    return {
      turns: turns === 0 ? null : turns,
      input_tokens: isUsageTold ? countIn(used.input) : null,
      cached_input_tokens: isUsageTold ? countIn(used.cached) : null,
      output_tokens: isUsageTold ? countIn(used.output) : null,
      cost_usd: null,
    };
  }

  function turnCompleted(said: Said): LineReading {
    const told = objectIn(said.usage);
    if (told) {
      isUsageTold = true;
      used.input += countIn(told.input_tokens) ?? 0;
      used.cached += countIn(told.cached_input_tokens) ?? 0;
      used.output += countIn(told.output_tokens) ?? 0;
    }
    terminal = { ok: true, word: 'turn.completed' };
    failure = null;
    const body = lastMessage === null ? null : clipped(lastMessage);
    const events: AgentEvent[] = [
      { kind: 'usage', usage: usage() },
      { kind: 'final', ok: true, body },
    ];
    return { events, sign: 'terminal' };
  }

  function turnFailed(said: Said): LineReading {
    terminal = { ok: false, word: 'turn.failed' };
    failure = troubleOf(textIn(objectIn(said.error)?.message) ?? '');
    return { events: [{ kind: 'final', ok: false, body: clipped(failure.detail) }], sign: 'terminal' };
  }

  return {
    calls,
    denials,
    heard({ isFirst, answersBefore }) {
      // It asked again, so it waits for no command.
      if (isFirst) calls.leave(COMMAND);
      return maxTurns !== undefined && answersBefore >= maxTurns ? TOO_MANY_TURNS : undefined;
    },
    line(said, number) {
      const item = objectIn(said.item);
      switch (said.type) {
        case 'item.started':
          return item && started(item);
        case 'item.updated':
        case 'item.plan.delta':
          return progress([]);
        case 'item.completed':
          return item && completed(item, number);
        case 'thread.started':
          session = textIn(said.thread_id) === undefined ? session : nameOf(said.thread_id);
          return ALIVE;
        case 'turn.started':
          isAnswerOver = true;
          return ALIVE;
        case 'turn.completed':
          return turnCompleted(said);
        case 'turn.failed':
          return turnFailed(said);
        case 'error':
          return errorLine(textIn(said.message) ?? '');
        case 'request_user_input':
          return { events: [], sign: 'kill', reason: 'prompt_detected' };
        default:
          return undefined;
      }
    },
    end: facts => ({
      terminal,
      // An empty file says nothing, and some failures leave one.
      finalText: facts.lastMessage || lastMessage,
      failure: terminal ? failure : trouble,
      usage: usage(),
      session,
      model: null,
    }),
  };
}

const TOO_MANY_TURNS: LineReading = { events: [], sign: 'kill', reason: 'limit_turns' };

/** An `error` line that is not the end: Codex tries again, for ever if there is no network. */
const RETRY = /^Reconnecting|waiting for network/;

/** Codex tells of trouble in words alone; the status of the answer stands in some of them. */
function troubleOf(message: string): NonNullable<AgentReading['failure']> {
  const status = statusIn(Number(/\bstatus (\d{3})\b/.exec(message)?.[1]));
  const isKeyMissing = status === 401 || message.startsWith('Missing environment variable');
  return { reason: isKeyMissing ? 'auth_missing' : 'api_error', status, detail: brief(message) };
}
