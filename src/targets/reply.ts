import { readJson } from '../base/json.ts';
import { type CaseArtifact, caseArtifact, caseShape } from '../contracts/artifacts/index.ts';
import { check } from '../contracts/check.ts';
import { formOf } from '../contracts/form.ts';
import { isObject } from '../contracts/kind.ts';
import { repair, type RepairCounts } from './repairs.ts';

export type SideName = CaseArtifact['version'];

/** An agent's answer, as fields of a case artifact. */
export type AgentReply = Pick<CaseArtifact, 'workflow_id' | 'agent_fields'> & {
  [Key in 'proposed_actions' | 'events' | 'final_output']: NonNullable<CaseArtifact[Key]>;
};

export type ReplyReading =
  | { readonly ok: true; readonly reply: AgentReply; readonly repairs: RepairCounts }
  | UnreadableReply;

export interface UnreadableReply {
  readonly ok: false;
  readonly class: 'invalid_json' | 'schema_mismatch';
  readonly message: string;
  readonly errorName?: string;
}

export interface ReplyNames {
  readonly caseId: string;
  readonly side: SideName;
  /** Whether to repair what the list of repairs covers. */
  readonly isLenient: boolean;
}

/** Converts a reply to fields of a case artifact, or returns why it is invalid. Never throws. */
export function readReply(bytes: Uint8Array, bytesMax: number, names: ReplyNames): ReplyReading {
  const document = readReplyJson(bytes, bytesMax);
  return document.ok ? checkReply(document.value, names) : document;
}

/** Parses the body of a reply. */
export function readReplyJson(
  bytes: Uint8Array,
  bytesMax: number,
): UnreadableReply | { readonly ok: true; readonly value: unknown } {
  const reading = readJson(bytes, { bytesMax });
  if (reading.ok) return reading;
  const { code, message } = reading.refusal;
  return { ok: false, class: BEYOND_JSON.has(code) ? 'schema_mismatch' : 'invalid_json', message };
}

/** Checks a reply against the contract of case artifacts. Repairs it first if that is allowed and needed. */
export function checkReply(value: unknown, { caseId, side, isLenient }: ReplyNames): ReplyReading {
  if (!isObject(value)) return mismatch('The answer is not a JSON object.');
  if (Object.hasOwn(value, 'case_id') && value['case_id'] !== caseId)
    return mismatch('The answer has the case_id of another case.');
  if (Object.hasOwn(value, 'version') && value['version'] !== side)
    return mismatch("The answer has the other side's version.");
  const reply: Reply = { proposed_actions: [], events: [] };
  for (const key of REPLY_KEYS) if (Object.hasOwn(value, key)) reply[key] = value[key];
  const artifact = { schema_version: 'case.v1', case_id: caseId, version: side, status: 'ok', ...reply };
  const fields = [...beyond(value), ...takeOurs(artifact)];
  let findings = check(caseArtifact, artifact, CONTEXT);
  let repairs: RepairCounts = {};
  if (findings.violations.length > 0 && isLenient) {
    repairs = repair(reply);
    findings = check(caseArtifact, Object.assign(artifact, reply), CONTEXT);
  }
  const { violations, advice } = findings;
  if (violations.length > 0) {
    const more = violations.length > MESSAGES_SHOWN ? ` And ${violations.length - MESSAGES_SHOWN} more.` : '';
    const messages = violations.slice(0, MESSAGES_SHOWN).map(({ message }) => message);
    return mismatch(`${messages.join(' ')}${more}`);
  }
  // Every unknown key causes advice, so an answer without advice has no unknown keys.
  if (advice.length > 0) fields.push(...takeUnknown(artifact));
  const sound = reply as AgentReply;
  if (sound.proposed_actions.some(({ evidence_refs }) => evidence_refs.some(({ kind }) => kind === 'asset'))) {
    return mismatch('An action cites a file in the run folder, which an agent cannot know.');
  }
  // Object.fromEntries creates an own key even for __proto__.
  const whole = fields.length === 0 ? sound : { ...sound, agent_fields: Object.fromEntries(fields) };
  return { ok: true, reply: whole, repairs };
}

type Reply = Partial<Record<(typeof REPLY_KEYS)[number], unknown>>;

const CONTEXT = { strict: false, internal: false };

/** The refusals that also apply to valid JSON. */
const BEYOND_JSON: ReadonlySet<string> = new Set(['too_deep', 'too_many_values', 'too_large']);

const MESSAGES_SHOWN = 5;

/** The keys of an answer that become part of the artifact. */
const REPLY_KEYS = ['workflow_id', 'proposed_actions', 'events', 'final_output'] as const;

const ENVELOPE: ReadonlySet<string> = new Set([...REPLY_KEYS, 'case_id', 'version']);

export function mismatch(message: string): UnreadableReply {
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

/** The value at a path such as `events[2]`. Its keys are all part of the contract. */
function valueAt(value: unknown, place: string): unknown {
  let at = value;
  for (const [key] of place.matchAll(/[^.[\]]+/g)) at = (at as Record<string, unknown> | undefined)?.[key];
  return at;
}
