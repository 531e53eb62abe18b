import { canonicalize } from '../../base/canonical.ts';
import { readJson } from '../../base/json.ts';
import { type CaseArtifact, caseArtifact, eventsOf } from '../../contracts/artifacts/index.ts';
import { Effort } from './effort.ts';
import { folded } from './folded.ts';
import { type Usage, reportedUsage } from './usage.ts';

/** What an agent answered to one case, in the forms that expectations look at. Each is made when it is first needed. */
export class Answer {
  readonly artifact: CaseArtifact;
  /** What patterns may take to look through it. */
  readonly effort: Effort;
  #text: string | undefined;
  #folded: string | undefined;
  #json: Json | undefined;
  #calls: readonly Call[] | undefined;

  constructor(artifact: CaseArtifact, effort = new Effort()) {
    this.artifact = artifact;
    this.effort = effort;
  }

  /** The final output as a text; of JSON, the canonical one. */
  get text(): string {
    const content = this.artifact.final_output?.content ?? '';
    this.#text ??= typeof content === 'string' ? content : canonicalize(content);
    return this.#text;
  }

  /** The same, where upper and lower case and the kind and amount of white space do not matter. */
  get folded(): string {
    // White space around a text that is looked for must be found at both ends, too.
    this.#folded ??= folded(` ${this.text} `);
    return this.#folded;
  }

  /** The final output as JSON: as it came, or read strictly out of a text. */
  get json(): Json {
    this.#json ??= jsonOf(this.artifact.final_output?.content ?? '');
    return this.#json;
  }

  /** The calls of tools in the order received, each with its index among the events. */
  get calls(): readonly Call[] {
    this.#calls ??= [...eventsOf('tool_call', this.artifact.events ?? [])].map(([index, { tool }]) => ({
      index,
      tool,
    }));
    return this.#calls;
  }

  /** How long the last attempt took. */
  get latencyMs(): number | null {
    return latencyOf(this.artifact);
  }

  get usage(): Usage {
    return reportedUsage(this.artifact);
  }
}

interface Call {
  readonly index: number;
  readonly tool: string;
}

/** A value, or nothing where the answer is no JSON that all readers would read alike. */
type Json = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

function jsonOf(content: string | Record<string, unknown>): Json {
  if (typeof content !== 'string') return { ok: true, value: content };
  const reading = readJson(Buffer.from(content), { bytesMax: caseArtifact.bytesMax });
  return reading.ok ? { ok: true, value: reading.value } : { ok: false };
}

/** How long the last attempt at a case took, also at one that failed. */
export function latencyOf({ attempts = [], runner_failure }: CaseArtifact): number | null {
  return attempts.at(-1)?.latency_ms ?? runner_failure?.latency_ms ?? null;
}
