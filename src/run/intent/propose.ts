import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { check } from '../../contracts/check.ts';
import { MIB } from '../../contracts/contract.ts';
import { type Intent, type ModelIo, modelIo } from '../../contracts/intent/index.ts';
import { IntentFault } from './intent-fault.ts';

/** The prompt for an intent that has only a goal. Proctor looks up recordings by this prompt, so it must not change. */
export function plannerPrompt({ goal, constraints = [], context = {} }: Intent): string {
  return [
    'Plan how to reach the goal below inside a sandbox without network.',
    'Answer with one JSON object and nothing else. It may have these keys:',
    'files: a list of {path, content} to put in place;',
    'commands: a list of {argv}, the words of programs to run one after the other, without a shell;',
    'outputs: a list of paths that the commands make;',
    'accept: a list of checks, each {check, ...}: exit_code with equals, file_exists with path, content_matches with path and pattern, json_schema with path and schema, sha256 with path and sha256;',
    'limits: an object with timeout_ms, max_output_files, max_total_output_bytes.',
    canonicalize({ goal, constraints, context }),
  ].join('\n');
}

/** Validates a recording. */
export function judgedRecording(value: unknown): ModelIo {
  const { violations } = check(modelIo, value, { strict: false, internal: false });
  const [first] = violations;
  if (!first) return value as ModelIo;
  throw new IntentFault('recording_unusable', `The recording is invalid: ${first.rule_id}: ${first.message}`, {
    ruleId: first.rule_id,
  });
}

/** The recorded answer to the same prompt. */
export function replayed({ interactions }: ModelIo, intent: Intent): Readonly<Record<string, unknown>> {
  const asked = bytesHash(plannerPrompt(intent));
  const answer = interactions.find(({ prompt_hash }) => prompt_hash === asked);
  if (!answer)
    throw new IntentFault('recording_unusable', 'The recording contains no answer for this goal.', {
      details: { prompt_hash: asked, recorded: interactions.length },
    });
  const reading = readJson(Buffer.from(unfenced(answer.response_content)), { bytesMax: MIB });
  if (!reading.ok || typeof reading.value !== 'object' || reading.value === null || Array.isArray(reading.value))
    throw new IntentFault('recording_unusable', "The model's answer is not a single JSON object.", {
      details: { interaction: answer.i },
    });
  const { commands } = reading.value as { commands?: unknown };
  if (!Array.isArray(commands) || commands.length === 0)
    throw new IntentFault('recording_unusable', "The model's answer contains no commands.", {
      details: { interaction: answer.i },
    });
  return reading.value as Record<string, unknown>;
}

/**
 * Models often wrap JSON in a fence, even if the prompt forbids it. Other text, or a second fence, makes the answer
 * invalid.
 */
function unfenced(response: string): string {
  const [, inside] = /^\s*```(?:json)?[ \t]*\r?\n((?:(?!```)[^])*)```\s*$/.exec(response) ?? [];
  return inside ?? response;
}

export interface PlannerAnswer {
  readonly adapterId: string;
  readonly modelId: string;
  readonly response: string;
  readonly tokensInput: number | null;
  readonly tokensOutput: number | null;
  readonly startedAtMs: number;
  readonly latencyMs: number;
}

/** Makes a recording that replays this answer. */
export function recordingOf(intent: Intent, answer: PlannerAnswer): ModelIo {
  const { adapterId, modelId, response, tokensInput, tokensOutput, startedAtMs, latencyMs } = answer;
  return {
    model_io_schema_version: '1.0.0',
    adapter_id: adapterId,
    model_id: modelId,
    mode: 'record',
    interactions: [
      {
        i: 0,
        prompt_hash: bytesHash(plannerPrompt(intent)),
        response_hash: bytesHash(response),
        response_content: response,
        ...(tokensInput !== null && { tokens_input: tokensInput }),
        ...(tokensOutput !== null && { tokens_output: tokensOutput }),
        latency_ms: latencyMs,
      },
    ],
    created_at_utc: instantText(startedAtMs),
    ended_at_utc: instantText(startedAtMs + latencyMs),
  };
}
