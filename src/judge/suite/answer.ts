import { canonicalize } from '../../base/canonical.ts';
import { readJson } from '../../base/json.ts';
import { type CaseArtifact, caseArtifact, eventsOf } from '../../contracts/artifacts/index.ts';
import { Effort } from './effort.ts';
import { folded } from './folded.ts';
import { type Usage, reportedUsage } from './usage.ts';

/** An agent's answer to one case, in the forms that expectations need. Each form is computed on first use. */
export class Answer {
  readonly artifact: CaseArtifact;
  /** Counts the steps that patterns take on this answer. */
  readonly effort: Effort;
  #text: string | undefined;
  #folded: string | undefined;
  #json: Json | undefined;
  #calls: readonly Call[] | undefined;

  constructor(artifact: CaseArtifact, effort = new Effort()) {
    this.artifact = artifact;
    this.effort = effort;
  }

  /** The final output as text; JSON is in canonical form. */
  get text(): string {
    const content = this.artifact.final_output?.content ?? '';
    this.#text ??= typeof content === 'string' ? content : canonicalize(content);
    return this.#text;
  }

  /** The same text with case and white space folded. */
  get folded(): string {
    // Padding lets an expected text that begins or ends with white space match at either end.
    this.#folded ??= folded(` ${this.text} `);
    return this.#folded;
  }

  /** The final output as JSON: as received, or parsed strictly from text. */
  get json(): Json {
    this.#json ??= jsonOf(this.artifact.final_output?.content ?? '');
    return this.#json;
  }

  /** Tool calls in the order received, each with its event index. */
  get calls(): readonly Call[] {
    this.#calls ??= eventsOf('tool_call', this.artifact.events ?? []).map(([index, { tool }]) => ({
      index,
      tool,
    }));
    return this.#calls;
  }

  /** The latency of the last attempt. */
  get latencyMs(): number | null {
    return latencyOf(this.artifact);
  }

  /** The time to the first token; null if unknown. */
  get ttftMs(): number | null {
    return ttftOf(this.artifact) ?? null;
  }

  get usage(): Usage {
    return reportedUsage(this.artifact);
  }
}

interface Call {
  readonly index: number;
  readonly tool: string;
}

/** Not ok if parsers could read the content differently. */
type Json = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

function jsonOf(content: string | Record<string, unknown>): Json {
  if (typeof content !== 'string') return { ok: true, value: content };
  const reading = readJson(Buffer.from(content), { bytesMax: caseArtifact.bytesMax });
  return reading.ok ? { ok: true, value: reading.value } : { ok: false };
}

/** The latency of the last attempt at a case, even if it failed. */
export function latencyOf({ attempts = [], runner_failure }: CaseArtifact): number | null {
  return attempts.at(-1)?.latency_ms ?? runner_failure?.latency_ms ?? null;
}

/** The time to the first token of the answer; undefined if unknown. */
export function ttftOf({ attempts = [], runner_failure }: CaseArtifact): number | undefined {
  return runner_failure ? undefined : attempts.at(-1)?.ttft_ms;
}
