import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { TranscriptLine } from '../contracts/agent-step/reading.ts';
import { beginAgent, usageAttributes } from '../trace/agent-spans.ts';
import { SpanExporter } from '../trace/exporter.ts';
import { GEN_AI, OWN } from '../trace/names.ts';
import { traceSettings } from '../trace/settings.ts';
import { addToolSpans, plainModel, plainName, ToolCallList } from '../trace/tool-calls.ts';
import { type OpenSpan, Tracer } from '../trace/tracer.ts';
import type { AgentRunResult, RunAgentOptions } from './run-agent.ts';
import type { AttemptProgress, AttemptsResult, RunAttemptsOptions } from './run-attempts.ts';
import type { IntentRunResult, RunIntentOptions } from './run-intent.ts';
import type { RunScriptOptions, ScriptRunResult } from './run-script.ts';
import { endingAttributes, spanOfRun } from './traced-run.ts';

/** Exports the spans of this process, as OpenTelemetry's variables say; undefined if they ask for nothing. */
export async function openTracing(
  environment: Readonly<Record<string, string | undefined>>,
  warn: (sentence: string) => void,
): Promise<Tracing | undefined> {
  const { settings, warning } = traceSettings(environment);
  if (warning !== undefined) warn(warning);
  if (!settings) return undefined;
  const exporter = new SpanExporter(settings);
  return new Tracing(exporter, new Tracer(exporter, settings.parent), warn);
}

/** The spans of a run end with it, however it ends. They make no difference to the run. */
export class Tracing {
  readonly tracer: Tracer;
  readonly #exporter: SpanExporter;
  readonly #warn: (sentence: string) => void;

  constructor(exporter: SpanExporter, tracer: Tracer, warn: (sentence: string) => void) {
    this.#exporter = exporter;
    this.tracer = tracer;
    this.#warn = warn;
  }

  /** Sends the last spans, for a few seconds at most, and warns if some were lost. */
  async end(): Promise<void> {
    const { delivered, lost, why } = await this.#exporter.end();
    if (lost > 0) this.#warn(`${lost} of ${lost + delivered} trace spans were lost, because ${why}.`);
  }

  script(run: (options: RunScriptOptions) => Promise<ScriptRunResult>, options: RunScriptOptions) {
    this.tracer.protect(Object.values(options.secrets ?? {}));
    return spanOfRun(
      this.tracer,
      'script',
      () => run(options),
      ({ runId, status, reason, ending, files }) => ({
        attributes: {
          [OWN.runId]: runId,
          [OWN.verdict]: status,
          [OWN.reason]: reason,
          ...endingAttributes(ending),
          [OWN.files]: files.length,
        },
        errorType: status === 'succeeded' ? undefined : (reason ?? status),
      }),
    );
  }

  intent(run: (options: RunIntentOptions) => Promise<IntentRunResult>, options: RunIntentOptions) {
    return spanOfRun(
      this.tracer,
      'intent',
      () => run(options),
      ({ runId, result: { kernel_result_kind: kind, decision, execution } }) => ({
        attributes: {
          [OWN.runId]: runId,
          [OWN.verdict]: decision.accepted ? 'accepted' : 'not_accepted',
          [OWN.outcome]: kind,
          [OWN.exitCode]: execution?.exit_code,
          [OWN.files]: execution?.outputs.length,
        },
        errorType: decision.accepted ? undefined : kind.toLowerCase(),
      }),
    );
  }

  agent(run: (options: RunAgentOptions) => Promise<AgentRunResult>, options: RunAgentOptions) {
    const { tracer } = this;
    tracer.protect(Object.values(options.secrets ?? {}));
    const calls = new ToolCallList();
    const onEvent = (line: TranscriptLine): void => {
      calls.take(line);
      options.onEvent?.(line);
    };
    return spanOfRun(
      tracer,
      'agent',
      async runSpan => {
        let agent: OpenSpan | undefined;
        const onFolder: RunAgentOptions['onFolder'] = place => {
          runSpan.set({ [OWN.runId]: place.id });
          agent = beginAgent(tracer, { name: options.agent, model: options.model, kind: 'internal' }, runSpan.context);
          options.onFolder?.(place);
        };
        try {
          const result = await run({ ...options, onEvent, onFolder });
          if (agent) endAgent(tracer, agent, result, calls);
          return result;
        } catch (error) {
          agent?.end({ errorType: error instanceof Fault ? error.code : 'bug' });
          throw error;
        }
      },
      ({ termination, reason, violations }) => ({
        attributes: { [OWN.verdict]: termination, [OWN.reason]: reason, [OWN.violations]: violations.length },
        errorType: termination === 'completed' ? undefined : reason,
      }),
    );
  }

  attempts(run: (options: RunAttemptsOptions) => Promise<AttemptsResult>, options: RunAttemptsOptions) {
    const { tracer } = this;
    tracer.protect(Object.values(options.secrets ?? {}));
    return spanOfRun(
      tracer,
      'attempts',
      runSpan => {
        const attempts = new Map<number, AttemptSpans>();
        const onAttempt = (progress: AttemptProgress): void => {
          const spans = attempts.get(progress.attempt) ?? new AttemptSpans(tracer, runSpan, options, progress.attempt);
          attempts.set(progress.attempt, spans);
          spans.take(progress);
          options.onAttempt?.(progress);
        };
        return run({ ...options, onAttempt });
      },
      ({ report: { group, winner, attempts, not_ranked } }) => ({
        attributes: {
          [OWN.runId]: group,
          [OWN.verdict]: winner ? 'winner' : 'no_winner',
          [OWN.cases]: attempts.length + not_ranked.length,
          [OWN.casesFailed]: not_ranked.length,
        },
        errorType: winner ? undefined : 'no_winner',
      }),
    );
  }
}

function endAgent(tracer: Tracer, agent: OpenSpan, result: AgentRunResult, calls: ToolCallList): void {
  const { termination, reason, ending, reported, model, denials, ran } = result;
  if (ran) agent.startAt(ran.startedAtMs);
  agent.set({
    [GEN_AI.agentVersion]: plainName(result.agent.version),
    [GEN_AI.responseModel]: plainModel(model),
    ...usageAttributes(reported),
    ...endingAttributes(ending),
    [OWN.reason]: reason,
    [OWN.denials]: denials,
  });
  addToolSpans(tracer, agent, calls, ran?.startedAtMs);
  agent.end({
    errorType: termination === 'completed' ? undefined : reason,
    ...(ran && { endMs: ran.startedAtMs + ran.durationMs }),
  });
}

/** The spans of one of several attempts at a task. */
class AttemptSpans {
  readonly #tracer: Tracer;
  readonly #options: RunAttemptsOptions;
  readonly #attempt: OpenSpan;
  readonly #calls = new ToolCallList();
  #agent: OpenSpan | undefined;
  /** When the agent started, at the latest. */
  #originMs = Number.POSITIVE_INFINITY;

  constructor(tracer: Tracer, run: OpenSpan, options: RunAttemptsOptions, attempt: number) {
    this.#tracer = tracer;
    this.#options = options;
    this.#attempt = tracer.begin('proctor.attempt', { parent: run.context, attributes: { [OWN.attempt]: attempt } });
  }

  take(progress: AttemptProgress): void {
    if (progress.is === 'running') {
      const { agent: name, model } = this.#options;
      this.#attempt.set({ [OWN.runId]: progress.runId });
      this.#agent = beginAgent(this.#tracer, { name, model, kind: 'internal' }, this.#attempt.context);
    }
    if (progress.is === 'event') {
      this.#originMs = Math.min(this.#originMs, systemClock.now() - progress.line.at_ms);
      this.#calls.take(progress.line);
    }
    if (progress.is === 'ended') this.#end(progress.row);
  }

  #end(row: Extract<AttemptProgress, { is: 'ended' }>['row']): void {
    const isRun = 'termination' in row;
    const errorType = !isRun ? row.code : row.termination === 'completed' ? undefined : row.reason;
    if (this.#agent) {
      const originMs = Number.isFinite(this.#originMs) ? this.#originMs : undefined;
      addToolSpans(this.#tracer, this.#agent, this.#calls, originMs);
      if (isRun) this.#agent.set({ [OWN.reason]: row.reason, [OWN.costUsd]: row.cost_usd });
      this.#agent.end({ errorType });
    }
    this.#attempt.set({ [OWN.outcome]: isRun ? row.termination : 'not_run' });
    this.#attempt.end({ errorType });
  }
}
