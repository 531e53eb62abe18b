import type { AgentEvent, Denial, LineReading, Reason } from '../contracts/agent-step/reading.ts';
import { blockedIn } from './blocked.ts';
import { Calls, Denials } from './calls.ts';
import { QUESTIONS, WEB } from './claude-invoke.ts';
import { eventsOf, fileChangeOf, PATH_BYTES_MAX, refusalOf, resultText } from './claude-parts.ts';
import { endingOf, type ClaudeEnding, isAuthTrouble, NO_USAGE } from './claude-ending.ts';
import { brief, clipped, countIn, jsonOf, listIn, objectIn, type Said, statusIn, textIn } from './said.ts';
import { ALIVE, alive, EVENTS_MAX, type Protocol, progress } from './stream.ts';

/** The lines of `claude --print --output-format stream-json`. */
export function claudeProtocol(): Protocol {
  const calls = new Calls();
  const denials = new Denials();
  let session: string | null = null;
  let model: string | null = null;
  let ending: ClaudeEnding | undefined;
  /** What the API last refused, while nothing has got on since. */
  let trouble: { reason: Reason; status: number | null; detail: string } | null = null;
  let isUnauthenticated = false;
  /** It has a tool for an answer of a form that was asked for, which it has only where one was. */
  let isStructured = false;
  /** It has asked the user. */
  let isAsking = false;

  function system(said: Said, number: number): LineReading | undefined {
    const subtype = textIn(said.subtype);
    switch (subtype) {
      case 'init':
        session = nameIn(said.session_id) ?? session;
        model = nameIn(said.model) ?? model;
        isStructured = listIn(said.tools).includes('StructuredOutput');
        return alive({ kind: 'note', level: 'info', text: initText(said) });
      case 'permission_denied': {
        const reason = textIn(said.decision_reason) ?? textIn(said.message) ?? textIn(said.decision_reason_type);
        return progress(denied(said.tool_use_id, said.tool_name, reason, wantedPath(said.message), number));
      }
      case 'api_retry': {
        const status = statusIn(said.error_status);
        const message = brief(textIn(said.error) ?? 'unknown');
        trouble = { reason: isAuthTrouble(status, message) ? 'auth_missing' : 'api_error', status, detail: message };
        return alive({ kind: 'retry', attempt: countIn(said.attempt), status, message });
      }
      default:
        if (subtype === undefined) return undefined;
        // A task of the agent's own that begins, gets on or ends.
        if (subtype.startsWith('task_')) return progress([]);
        return QUIET.has(subtype) || subtype.startsWith('hook_') ? ALIVE : undefined;
    }
  }

  function assistant(said: Said, number: number): LineReading {
    const message = objectIn(said.message);
    const error = textIn(said.error);
    isUnauthenticated = error === 'authentication_failed';
    if (error === undefined) trouble = null;
    // What Claude says in place of the model is no word of the model's.
    const name = nameIn(message?.model);
    if (model === null && name !== null && name !== '<synthetic>') model = name;
    const events = eventsOf(
      message?.content,
      'assistant',
      block => [...called(block), ...asked(block, number)],
      finished,
    );
    if (isAsking) return { events, sign: 'kill', reason: 'prompt_detected' };
    // What went wrong is told as a message, and is no step forward.
    return error === undefined ? progress(events) : alive(...events);
  }

  function user(said: Said, number: number): LineReading {
    trouble = null;
    const message = objectIn(said.message);
    const refusals = new Map(listIn(said.tool_result_meta).flatMap(refusalOf));
    const events = eventsOf(message?.content, 'user', called, block => {
      const id = textIn(block.tool_use_id);
      const text = resultText(block.content);
      const refused = block.is_error === true && ((id !== undefined && refusals.get(id)) || NOT_RUN.test(text));
      const why = text.replaceAll(/<\/?tool_use_error>/g, '');
      if (refused) return [...denied(id, undefined, why, undefined, number), ...finished(block)];
      return [...(block.is_error === true ? blocked(id, why, number) : []), ...finished(block)];
    });
    if (events.length === 1 && events[0]?.kind === 'tool_result' && events[0].ok) {
      const change = fileChangeOf(objectIn(said.tool_use_result));
      if (change) events.push(change);
    }
    return progress(events);
  }

  function result(said: Said, number: number): LineReading {
    const events: AgentEvent[] = [];
    if (!denials.isBeyondMemory) {
      for (const one of listIn(said.permission_denials).slice(0, EVENTS_MAX)) {
        const denial = objectIn(one);
        const input = objectIn(denial?.tool_input);
        if (denial) events.push(...denied(denial.tool_use_id, denial.tool_name, undefined, pathIn(input), number));
      }
    }
    session = nameIn(said.session_id) ?? session;
    ending = endingOf(said, { isUnauthenticated, isStructured });
    const body = ending.finalText === null ? null : clipped(ending.finalText);
    events.push({ kind: 'usage', usage: ending.usage }, { kind: 'final', ok: ending.terminal.ok, body });
    return { events, sign: 'terminal' };
  }

  function called(block: Said): AgentEvent[] {
    const id = nameIn(block.id);
    const tool = nameIn(block.name) ?? UNNAMED;
    const input = objectIn(block.input);
    const path = pathIn(input);
    const command = textIn(input?.command);
    if (id !== null) calls.begin(id, { tool, path });
    return [
      {
        kind: 'tool_call',
        call: id ?? UNNAMED,
        tool,
        input: clipped(jsonOf(block.input)),
        ...(command !== undefined && { command: clipped(command) }),
        ...(path !== undefined && { path }),
      },
    ];
  }

  function finished(block: Said): AgentEvent[] {
    const id = nameIn(block.tool_use_id);
    if (id !== null) calls.end(id);
    const text = resultText(block.content);
    const ok = block.is_error !== true;
    // Claude tells the exit code of a command that failed, and in words alone.
    const code = ok ? undefined : /^Exit code (\d{1,3})\b/.exec(text)?.[1];
    const exit_code = code === undefined ? null : Number(code);
    return [{ kind: 'tool_result', call: id ?? UNNAMED, ok, output: clipped(text), exit_code }];
  }

  /** Of a call that was made and failed. */
  function blocked(id: string | undefined, output: string, number: number): AgentEvent[] {
    const found = blockedIn(output);
    const known = id === undefined ? undefined : calls.get(id);
    if (!found || known === undefined) return [];
    const { reason, isNetwork, path = known.path ?? null } = found;
    const denial: Denial = {
      tool: known.tool,
      call: nameIn(id),
      reason,
      path,
      isNetwork,
      fromOutput: true,
      native_line: number,
    };
    if (!denials.add(denial)) return [];
    return [{ kind: 'denial', call: denial.call, tool: denial.tool, reason }];
  }

  /** A call that only a person could answer, whatever Claude says to it. */
  function asked(block: Said, number: number): AgentEvent[] {
    const tool = nameIn(block.name);
    if (tool === null || !QUESTIONS.includes(tool)) return [];
    const call = nameIn(block.id);
    const reason = 'it asks the user, and nobody is there to answer';
    if (!denials.add({ tool, call, reason, path: null, isNetwork: false, isQuestion: true, native_line: number }))
      return [];
    isAsking = true;
    return [{ kind: 'denial', call, tool, reason }];
  }

  function denied(
    callId: unknown,
    toolName: unknown,
    why: string | undefined,
    inputPath: string | undefined,
    number: number,
  ): AgentEvent[] {
    const call = nameIn(callId);
    const known = call === null ? undefined : calls.get(call);
    const tool = nameIn(toolName) ?? known?.tool ?? UNNAMED;
    const path = inputPath ?? known?.path ?? null;
    const reason = brief(why ?? 'denied', REASON_BYTES_MAX);
    if (!denials.add({ tool, call, reason, path, isNetwork: WEB.includes(tool), native_line: number })) return [];
    return [{ kind: 'denial', call, tool, reason }];
  }

  return {
    calls,
    denials,
    line(said, number) {
      switch (said.type) {
        case 'assistant':
          return assistant(said, number);
        case 'user':
          return user(said, number);
        case 'system':
          return system(said, number);
        case 'result':
          return result(said, number);
        case 'stream_event':
        case 'tool_progress':
          return progress([]);
        case 'control_request':
          // It asks its host for leave, and there is none to answer.
          if (!HOST_QUESTIONS.has(textIn(objectIn(said.request)?.subtype) ?? '')) return ALIVE;
          return { events: [], sign: 'kill', reason: 'prompt_detected' };
        default:
          return QUIET.has(said.type as string) ? ALIVE : undefined;
      }
    },
    end: () => ({
      terminal: ending?.terminal ?? null,
      finalText: ending?.finalText ?? null,
      failure: ending ? ending.failure : trouble,
      usage: ending?.usage ?? NO_USAGE,
      session,
      model,
    }),
  };
}

/** Types and subtypes that are known, and say only that Claude is there. */
const QUIET: ReadonlySet<string> = new Set([
  'status',
  'compact_boundary',
  'ui_invalidate',
  'rate_limit_event',
  'keep_alive',
  'auth_status',
  'tool_use_summary',
  'prompt_suggestion',
  'control_response',
]);

const UNNAMED = 'unnamed';

/** What Claude asks whoever started it: leave for a tool, and answers that a server of tools wants of the user. */
const HOST_QUESTIONS: ReadonlySet<string> = new Set(['can_use_tool', 'elicitation']);

/** How Claude words a call that it did not run. Older versions have no other sign of it until the last line. */
const NOT_RUN =
  /^(?:<tool_use_error>)?(?:Error: )?(?:No such tool available:|Permission (?:to use|for this tool use)|Claude requested permissions? to )/;

function nameIn(value: unknown): string | null {
  const text = textIn(value);
  return text === undefined || text === '' ? null : brief(text, NAME_BYTES_MAX);
}

const NAME_BYTES_MAX = 256;

function pathIn(input: Said | undefined): string | undefined {
  const path = textIn(input?.file_path) ?? textIn(input?.notebook_path) ?? textIn(input?.path);
  return path === undefined || path === '' ? undefined : brief(path, PATH_BYTES_MAX);
}

/** A command has no path of its own; what Claude would have asked leave for names it. */
function wantedPath(message: unknown): string | undefined {
  return /\bWhat required approval: .{0,100}?(\/work\/[^\s,]{1,300})/.exec(textIn(message) ?? '')?.[1];
}

/** Claude tells its model at length what it may try instead; why it was denied stands first. */
const REASON_BYTES_MAX = 300;

function initText(said: Said): string {
  const mode = nameIn(said.permissionMode) ?? 'unknown';
  return brief(`model ${nameIn(said.model) ?? 'unknown'}, mode ${mode}, ${listIn(said.tools).length} tools`);
}
