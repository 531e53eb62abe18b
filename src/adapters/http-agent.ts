import { readJson } from '../base/json.ts';
import { type CaseArtifact, caseArtifact, caseShape } from '../contracts/artifacts/index.ts';
import { check } from '../contracts/check.ts';
import { formOf } from '../contracts/form.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';

export type SideName = CaseArtifact['version'];

/** The request body for one case. */
export function questionOf(one: SuiteCase, side: SideName, runId: string): string {
  const { run_meta, runMeta, handoff, policy, runtime_policy } = one.metadata ?? {};
  const parent = ((run_meta ?? runMeta ?? {}) as { parent_run_id?: unknown }).parent_run_id;
  return JSON.stringify({
    case_id: one.id,
    version: side,
    input: one.input,
    run_meta: { run_id: runId, incident_id: runId, ...(parent !== undefined && { parent_run_id: parent }) },
    ...(handoff !== undefined && { handoff }),
    ...((policy ?? runtime_policy) !== undefined && { policy: policy ?? runtime_policy }),
  });
}

/** An agent's answer, as fields of a case artifact. */
export type AgentReply = Pick<CaseArtifact, 'workflow_id' | 'agent_fields'> & {
  [Key in 'proposed_actions' | 'events' | 'final_output']: NonNullable<CaseArtifact[Key]>;
};

export type ReplyReading =
  | { readonly ok: true; readonly reply: AgentReply }
  | { readonly ok: false; readonly class: 'invalid_json' | 'schema_mismatch'; readonly message: string };

/** Converts the body of an answer to fields of a case artifact, or returns why it is invalid. Never throws. */
export function readReply(bytes: Uint8Array, caseId: string, side: SideName, bytesMax: number): ReplyReading {
  const reading = readJson(bytes, { bytesMax });
  if (!reading.ok) {
    const { code, message } = reading.refusal;
    return { ok: false, class: BEYOND_JSON.has(code) ? 'schema_mismatch' : 'invalid_json', message };
  }
  const { value } = reading;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return mismatch('The answer is not a JSON object.');
  }
  const said = value as Record<string, unknown>;
  if (Object.hasOwn(said, 'case_id') && said['case_id'] !== caseId)
    return mismatch('The answer has the case_id of another case.');
  if (Object.hasOwn(said, 'version') && said['version'] !== side)
    return mismatch("The answer has the other side's version.");
  const reply: Partial<Record<(typeof REPLY_KEYS)[number], unknown>> = { proposed_actions: [], events: [] };
  for (const key of REPLY_KEYS) if (Object.hasOwn(said, key)) reply[key] = said[key];
  const artifact = { schema_version: 'case.v1', case_id: caseId, version: side, status: 'ok', ...reply };
  const fields = [...beyond(said), ...takeOurs(artifact)];
  const { violations, advice } = check(caseArtifact, artifact, { strict: false, internal: false });
  if (violations.length > 0) {
    const more = violations.length > MESSAGES_SHOWN ? ` And ${violations.length - MESSAGES_SHOWN} more.` : '';
    const messages = violations.slice(0, MESSAGES_SHOWN).map(({ message }) => message);
    return mismatch(`${messages.join(' ')}${more}`);
  }
  const sound = reply as AgentReply;
  if (sound.proposed_actions.some(({ evidence_refs }) => evidence_refs.some(({ kind }) => kind === 'asset'))) {
    return mismatch('An action cites a file in the run folder, which an agent cannot know.');
  }
  // Every unknown key causes advice, so an answer without advice has no unknown keys.
  if (advice.length > 0) fields.push(...takeUnknown(artifact));
  // Object.fromEntries creates an own key even for __proto__.
  return { ok: true, reply: fields.length === 0 ? sound : { ...sound, agent_fields: Object.fromEntries(fields) } };
}

/** Refusals of valid JSON that exceeds a limit. */
const BEYOND_JSON: ReadonlySet<string> = new Set(['too_deep', 'too_many_values', 'too_large']);

const MESSAGES_SHOWN = 5;

/** The keys of an answer that become part of the artifact. */
const REPLY_KEYS = ['workflow_id', 'proposed_actions', 'events', 'final_output'] as const;

const ENVELOPE: ReadonlySet<string> = new Set([...REPLY_KEYS, 'case_id', 'version']);

function mismatch(message: string): ReplyReading {
  return { ok: false, class: 'schema_mismatch', message };
}

function* beyond(said: Record<string, unknown>): Generator<[string, unknown]> {
  for (const key of Object.keys(said)) if (!ENVELOPE.has(key)) yield [key, said[key]];
}

/** Removes the fields that only Proctor sets: links into assets/, and notes on the output such as its hash. */
function takeOurs({ events, final_output }: { events?: unknown; final_output?: unknown }): [string, unknown][] {
  const taken: [string, unknown][] = [];
  for (const key of OUTPUT_NOTES) take(taken, 'final_output', final_output, key);
  if (Array.isArray(events)) {
    for (const [index, event] of events.entries()) for (const key of LINKS) take(taken, `events[${index}]`, event, key);
  }
  return taken;
}

/** Removes unknown keys, and returns them with their paths. */
function takeUnknown(artifact: object): [string, unknown][] {
  const taken: [string, unknown][] = [];
  // Find all unknown keys before removing the first.
  const unknown = Array.from(formOf(caseShape).unknown(artifact, ''));
  for (const { parent, key } of unknown) take(taken, parent, valueAt(artifact, parent), key);
  return taken;
}

function take(taken: [string, unknown][], parent: string, holder: unknown, key: string): void {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return;
  const held = holder as Record<string, unknown>;
  taken.push([`${parent}.${key}`, held[key]]);
  delete held[key];
}

const OUTPUT_NOTES = ['output_hash', 'redactions_applied'] as const;
const LINKS = ['payload_asset_href', 'payload_asset_sha256', 'snippets_asset_href'] as const;

/** The value at a path such as `events[2]`. All keys in the path are plain words, because the contract defines them. */
function valueAt(value: unknown, place: string): unknown {
  let at = value;
  for (const [key] of place.matchAll(/[^.[\]]+/g)) at = (at as Record<string, unknown> | undefined)?.[key];
  return at;
}
