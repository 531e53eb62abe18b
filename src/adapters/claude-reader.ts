import type { AgentEvent, AgentReading, LineReading } from '../contracts/agent-step/reading.ts';
import { blockedIn } from './blocked.ts';
import { Calls, Denials } from './calls.ts';
import { type ClaudeEnding, endingOf, isAuthFailure, NO_USAGE } from './claude-ending.ts';
import { QUESTIONS, WEB } from './claude-invoke.ts';
import { claudeEvents, fileChangeOf, refusalOf, resultText } from './claude-parts.ts';
import {
  brief,
  clipped,
  countIn,
  jsonOf,
  listIn,
  nameIn,
  objectIn,
  pathIn,
  type StreamObject,
  statusIn,
  textIn,
  UNNAMED,
} from './json-values.ts';
import { ALIVE, alive, EVENTS_MAX, PROMPT, type Protocol, progress } from './stream.ts';

/** Reads the lines of `claude --print --output-format stream-json`. */
export class ClaudeProtocol implements Protocol {
  readonly calls = new Calls();
  readonly denials = new Denials();
  /** The number of the line being read. */
  #number = 0;
  #session: string | null = null;
  #model: string | null = null;
  #ending: ClaudeEnding | undefined;
  /** The last API error, until the agent makes progress again. */
  #apiError: AgentReading['failure'] = null;
  #isUnauthenticated = false;
  #isStructured = false;
  #isAskingUser = false;

  line(said: StreamObject, number: number): LineReading | undefined {
    this.#number = number;
    switch (said.type) {
      case 'assistant':
        return this.#assistant(said);
      case 'user':
        return this.#user(said);
      case 'system':
        return this.#system(said);
      case 'result':
        return this.#result(said);
      case 'stream_event':
      case 'tool_progress':
        return progress([]);
      case 'control_request':
        return HOST_QUESTIONS.has(textIn(objectIn(said.request)?.subtype) ?? '') ? PROMPT : ALIVE;
      default:
        return QUIET.has(said.type as string) ? ALIVE : undefined;
    }
  }

  end(): ReturnType<Protocol['end']> {
    return {
      terminal: this.#ending?.terminal ?? null,
      finalText: this.#ending?.finalText ?? null,
      failure: this.#ending ? this.#ending.failure : this.#apiError,
      usage: this.#ending?.usage ?? NO_USAGE,
      session: this.#session,
      model: this.#model,
    };
  }

  #system(said: StreamObject): LineReading | undefined {
    const subtype = textIn(said.subtype);
    switch (subtype) {
      case undefined:
        return undefined;
      case 'init':
        return this.#init(said);
      case 'permission_denied': {
        const reason = textIn(said.decision_reason) ?? textIn(said.message) ?? textIn(said.decision_reason_type);
        return progress(this.#denied(said.tool_use_id, said.tool_name, reason, approvalPath(said.message)));
      }
      case 'api_retry':
        return this.#retry(said);
      default:
        if (subtype.startsWith('task_')) return progress([]);
        return QUIET.has(subtype) || subtype.startsWith('hook_') ? ALIVE : undefined;
    }
  }

  #init(said: StreamObject): LineReading {
    const model = nameIn(said.model);
    const mode = nameIn(said.permissionMode) ?? 'unknown';
    const tools = listIn(said.tools);
    this.#session = nameIn(said.session_id) ?? this.#session;
    this.#model = model ?? this.#model;
    // Claude has this tool only if the caller requested structured output.
    this.#isStructured = tools.includes('StructuredOutput');
    const text = brief(`model ${model ?? 'unknown'}, mode ${mode}, ${tools.length} tools`);
    return alive({ kind: 'note', level: 'info', text });
  }

  #retry(said: StreamObject): LineReading {
    const status = statusIn(said.error_status);
    const message = brief(textIn(said.error) ?? 'unknown');
    this.#apiError = { reason: isAuthFailure(status, message) ? 'auth_missing' : 'api_error', status, detail: message };
    return alive({ kind: 'retry', attempt: countIn(said.attempt), status, message });
  }

  #assistant(said: StreamObject): LineReading {
    const message = objectIn(said.message);
    const error = textIn(said.error);
    this.#isUnauthenticated = error === 'authentication_failed';
    if (error === undefined) this.#apiError = null;
    // Claude marks messages that it wrote itself as synthetic.
    const model = nameIn(message?.model);
    if (model !== '<synthetic>') this.#model ??= model;
    const events = claudeEvents(
      message?.content,
      'assistant',
      block => [...this.#called(block), ...this.#asked(block)],
      block => this.#finished(block),
    );
    if (this.#isAskingUser) return { ...PROMPT, events };
    // Claude reports an API error as a message, which is not progress.
    return error === undefined ? progress(events) : alive(...events);
  }

  #user(said: StreamObject): LineReading {
    this.#apiError = null;
    const refused = new Set(listIn(said.tool_result_meta).flatMap(refusalOf));
    const events = claudeEvents(
      objectIn(said.message)?.content,
      'user',
      block => this.#called(block),
      block => [...this.#failed(block, refused), ...this.#finished(block)],
    );
    if (events.length === 1 && events[0]?.kind === 'tool_result' && events[0].ok) {
      const change = fileChangeOf(objectIn(said.tool_use_result));
      if (change) events.push(change);
    }
    return progress(events);
  }

  #result(said: StreamObject): LineReading {
    const events: AgentEvent[] = [];
    if (!this.denials.isBeyondMemory) {
      for (const one of listIn(said.permission_denials).slice(0, EVENTS_MAX)) {
        const denial = objectIn(one);
        if (!denial) continue;
        const path = inputPath(objectIn(denial.tool_input));
        events.push(...this.#denied(denial.tool_use_id, denial.tool_name, undefined, path));
      }
    }
    this.#session = nameIn(said.session_id) ?? this.#session;
    const ending = endingOf(said, { isUnauthenticated: this.#isUnauthenticated, isStructured: this.#isStructured });
    this.#ending = ending;
    const body = ending.finalText === null ? null : clipped(ending.finalText);
    events.push({ kind: 'usage', usage: ending.usage }, { kind: 'final', ok: ending.terminal.ok, body });
    return { events, sign: 'terminal' };
  }

  #called(block: StreamObject): AgentEvent[] {
    const id = nameIn(block.id);
    const tool = nameIn(block.name) ?? UNNAMED;
    const input = objectIn(block.input);
    const path = inputPath(input);
    const command = textIn(input?.command);
    if (id !== null) this.calls.begin(id, { tool, path });
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

  #finished(block: StreamObject): AgentEvent[] {
    const id = nameIn(block.tool_use_id);
    if (id !== null) this.calls.end(id);
    const text = resultText(block.content);
    const ok = block.is_error !== true;
    // The text of a failed command is the only source of its exit code.
    const code = ok ? undefined : /^Exit code (\d{1,3})\b/.exec(text)?.[1];
    const exit_code = code === undefined ? null : Number(code);
    return [{ kind: 'tool_result', call: id ?? UNNAMED, ok, output: clipped(text), exit_code }];
  }

  /** The denial behind a failed call, if there is one: Claude did not run it, or the system blocked it. */
  #failed(block: StreamObject, refused: ReadonlySet<string>): AgentEvent[] {
    if (block.is_error !== true) return [];
    const id = textIn(block.tool_use_id);
    const text = resultText(block.content);
    const why = text.replaceAll(/<\/?tool_use_error>/g, '');
    const isRefused = (id !== undefined && refused.has(id)) || NOT_RUN.test(text);
    return isRefused ? this.#denied(id, undefined, why, undefined) : this.#blocked(id, why);
  }

  #blocked(id: string | undefined, output: string): AgentEvent[] {
    const found = blockedIn(output);
    const known = id === undefined ? undefined : this.calls.get(id);
    if (!found || !known) return [];
    const { reason, isNetwork, path = known.path ?? null } = found;
    const native_line = this.#number;
    return this.denials.add({
      tool: known.tool,
      call: nameIn(id),
      reason,
      path,
      isNetwork,
      fromOutput: true,
      native_line,
    });
  }

  /** Denies a call that asks the user, because the run is unattended. */
  #asked(block: StreamObject): AgentEvent[] {
    const tool = nameIn(block.name);
    if (tool === null || !QUESTIONS.includes(tool)) return [];
    const reason = 'it asks the user, but the run is unattended';
    const call = nameIn(block.id);
    const native_line = this.#number;
    const events = this.denials.add({
      tool,
      call,
      reason,
      path: null,
      isNetwork: false,
      isQuestion: true,
      native_line,
    });
    this.#isAskingUser ||= events.length > 0;
    return events;
  }

  #denied(callId: unknown, toolName: unknown, why: string | undefined, deniedPath: string | undefined): AgentEvent[] {
    const call = nameIn(callId);
    const known = call === null ? undefined : this.calls.get(call);
    const tool = nameIn(toolName) ?? known?.tool ?? UNNAMED;
    const path = deniedPath ?? known?.path ?? null;
    const reason = brief(why ?? 'denied', REASON_BYTES_MAX);
    return this.denials.add({ tool, call, reason, path, isNetwork: WEB.includes(tool), native_line: this.#number });
  }
}

/** Types and subtypes that show only that Claude is alive. */
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

/** Requests that wait for an answer from the host: permission for a tool, or input that an MCP server requests. */
const HOST_QUESTIONS: ReadonlySet<string> = new Set(['can_use_tool', 'elicitation']);

/** How Claude describes a call that it did not run. Older versions give no other sign before the last line. */
const NOT_RUN =
  /^(?:<tool_use_error>)?(?:Error: )?(?:No such tool available:|Permission (?:to use|for this tool use)|Claude requested permissions? to )/;

function inputPath(input: StreamObject | undefined): string | undefined {
  return pathIn(textIn(input?.file_path) ?? textIn(input?.notebook_path) ?? textIn(input?.path));
}

/** The path of a denied command, which appears only in the message. */
function approvalPath(message: unknown): string | undefined {
  return /\bWhat required approval: .{0,100}?(\/work\/[^\s,]{1,300})/.exec(textIn(message) ?? '')?.[1];
}

/** The reason comes first. Long advice to the model follows it. */
const REASON_BYTES_MAX = 300;
