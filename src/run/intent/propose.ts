import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { check } from '../../contracts/check.ts';
import { MIB } from '../../contracts/contract.ts';
import { type Intent, type ModelIo, modelIo } from '../../contracts/intent/index.ts';
import { IntentFault } from './trouble.ts';

/** What a planner is asked for an intent that has only a goal. Recordings are found by it, so every word of it counts. */
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

/** A recording of unknown origin, judged before it is believed. */
export function judgedRecording(value: unknown): ModelIo {
  const { violations } = check(modelIo, value, { strict: false, internal: false });
  const [first] = violations;
  if (!first) return value as ModelIo;
  throw new IntentFault('recording_unusable', `The recording breaks a rule: ${first.rule_id}: ${first.message}`, {
    ruleId: first.rule_id,
  });
}

/** What the model answered when it was asked the same. */
export function replayed({ interactions }: ModelIo, intent: Intent): Readonly<Record<string, unknown>> {
  const asked = bytesHash(plannerPrompt(intent));
  const answer = interactions.find(({ prompt_hash }) => prompt_hash === asked);
  if (!answer)
    throw new IntentFault('recording_unusable', 'The recording holds no answer for this goal: another was asked.', {
      details: { prompt_hash: asked, recorded: interactions.length },
    });
  const reading = readJson(Buffer.from(unfenced(answer.response_content)), { bytesMax: MIB });
  if (!reading.ok || typeof reading.value !== 'object' || reading.value === null || Array.isArray(reading.value))
    throw new IntentFault('recording_unusable', 'What the model answered is not one JSON object.', {
      details: { interaction: answer.i },
    });
  const { commands } = reading.value as { commands?: unknown };
  if (!Array.isArray(commands) || commands.length === 0)
    throw new IntentFault('recording_unusable', 'What the model answered has no commands.', {
      details: { interaction: answer.i },
    });
  return reading.value as Record<string, unknown>;
}

/** Models put JSON into a fence, whatever they are told. Words around it, or a second one, are no answer to what was asked. */
function unfenced(response: string): string {
  const [, inside] = /^\s*```(?:json)?[ \t]*\r?\n((?:(?!```)[^])*)```\s*$/.exec(response) ?? [];
  return inside ?? response;
}

/** What a planner answered, and what it tells of itself. */
export interface PlannerAnswer {
  readonly adapterId: string;
  readonly modelId: string;
  readonly response: string;
  readonly tokensInput: number | null;
  readonly tokensOutput: number | null;
  readonly startedAtMs: number;
  readonly latencyMs: number;
}

/** The recording of one answer, by which it is found again. */
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
