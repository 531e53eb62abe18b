import { clip } from '../../base/clip.ts';
import { defined } from '../../base/defined.ts';
import { placeOf } from '../../base/place.ts';
import type { OutputForm, ReplyMapping, ValueForm } from '../../contracts/target/mapping.ts';
import { textOfValue } from './json-text.ts';
import { MappingError } from './mapping-error.ts';
import { MappingRun, type ReadValue } from './mapping-run.ts';
import { applyRules, type CompiledRule, compileRule } from './rules.ts';
import { StepBudget, withinSteps } from './step-budget.ts';
import { ValueCompiler } from './value.ts';

/** Compiles a mapping whose shape was checked, or throws a MappingError. */
export function compileMapping(mapping: ReplyMapping): CompiledMapping {
  const values = new ValueCompiler();
  const named = (form: ValueForm | undefined, place: string): NamedValue | undefined =>
    form === undefined ? undefined : { place, read: values.compile(form, place, false) };
  const { events = [], proposed_actions: actions = [], usage = {} } = mapping;
  return {
    output: compileOutput(mapping.final_output, values),
    events: events.map((rule, index) => compileRule(rule, placeOf('events', index), values)),
    actions: actions.map((rule, index) => compileRule(rule, placeOf('proposed_actions', index), values)),
    usage: USAGE.flatMap(key => {
      const value = named(usage[key], placeOf('usage', key));
      return value ? [{ key, ...value }] : [];
    }),
    workflowId: named(mapping.workflow_id, 'workflow_id'),
    failed: failureForms(mapping.failed, 'failed').map(({ form, place }) => values.compile(form, place, false)),
    session: named(mapping.session, 'session'),
    model: named(mapping.model, 'model'),
  };
}

export interface CompiledMapping {
  readonly output: NamedValue & { readonly contentType: 'text' | 'json' | undefined };
  readonly events: readonly CompiledRule[];
  readonly actions: readonly CompiledRule[];
  readonly usage: readonly (NamedValue & { readonly key: (typeof USAGE)[number] })[];
  readonly workflowId: NamedValue | undefined;
  /** The forms of `failed`. The first one that states a failure counts. */
  readonly failed: readonly ReadValue[];
  readonly session: NamedValue | undefined;
  readonly model: NamedValue | undefined;
}

interface NamedValue {
  readonly place: string;
  readonly read: ReadValue;
}

const USAGE = ['cost_usd', 'total_tokens', 'input_tokens', 'output_tokens'] as const;

/** Maps a document. Pure: the verifier maps the stored reply again, and must get the same result. Never throws. */
export function applyMapping(mapping: CompiledMapping, document: unknown, stepsMax?: number): MappedReply {
  const run = new MappingRun(document, new StepBudget(stepsMax));
  return withinSteps(() => mapped(mapping, run)) ?? { ok: false, reason: 'too_many_steps' };
}

export type MappedReply =
  | ({
      readonly ok: true;
      readonly reply: MappedFields;
      readonly usage: { readonly [Key in (typeof USAGE)[number]]?: number };
      /** Why the agent says it failed. */
      readonly failed?: string;
      readonly session?: string;
      readonly model?: string;
    } & MappingNotes)
  | { readonly ok: false; readonly reason: 'too_many_steps' };

interface MappingNotes {
  /** The places in the mapping that found nothing usable. A rule's key is listed if it found nothing in any item. */
  readonly empty: readonly string[];
  readonly steps: number;
}

/** Fields of a case artifact, not yet repaired or checked. */
interface MappedFields {
  readonly final_output?: { readonly content_type: 'text' | 'json'; readonly content: unknown };
  readonly events: readonly Record<string, unknown>[];
  readonly proposed_actions: readonly Record<string, unknown>[];
  readonly workflow_id?: string;
}

function mapped(mapping: CompiledMapping, run: MappingRun): MappedReply {
  const empty: string[] = [];
  /** What `usable` makes of a value; undefined, and noted, if there is none. */
  const read = <Value>(
    value: NamedValue | undefined,
    usable: (found: unknown) => Value | undefined,
  ): Value | undefined => {
    if (!value) return undefined;
    const found = value.read(run, run.document);
    const used = found === undefined ? undefined : usable(found);
    if (used === undefined) empty.push(value.place);
    return used;
  };
  const { contentType } = mapping.output;
  const reply = defined({
    final_output: read(mapping.output, found => outputOf(found, contentType)),
    events: applyRules(mapping.events, run, empty),
    proposed_actions: applyRules(mapping.actions, run, empty),
    workflow_id: read(mapping.workflowId, idOf),
  });
  const usage = Object.fromEntries(
    mapping.usage.flatMap(value => {
      const amount = read(value, amountOf);
      return amount === undefined ? [] : [[value.key, amount]];
    }),
  );
  const session = read(mapping.session, idOf);
  const model = read(mapping.model, idOf);
  const failed = firstFailure(mapping.failed, run);
  return { ok: true, reply, usage, ...defined({ failed, session, model }), empty, steps: run.budget.steps };
}

function compileOutput(form: OutputForm, values: ValueCompiler): CompiledMapping['output'] {
  const place = 'final_output';
  if (typeof form === 'string') return { place, contentType: undefined, read: values.compile(form, place, false) };
  const { content, content_type: contentType, ...value } = form;
  if (content === undefined && contentType === undefined) {
    return { place, contentType, read: values.compile(value, place, false) };
  }
  if (content === undefined || contentType === undefined || Object.keys(value).length > 0) {
    throw new MappingError(place, 'The final output needs a value, or content_type and content and nothing else.');
  }
  return { place, contentType, read: values.compile(content, placeOf(place, 'content'), false) };
}

/** Objects are JSON and everything else is text, unless the mapping says what it is. */
function outputOf(content: unknown, declared: 'text' | 'json' | undefined): MappedFields['final_output'] | undefined {
  const isRecord = typeof content === 'object' && content !== null && !Array.isArray(content);
  const type = declared ?? (isRecord ? 'json' : 'text');
  if (type === 'json') return { content_type: type, content };
  const text = textOfValue(content);
  return text === undefined ? undefined : { content_type: type, content: text };
}

/** A non-empty text or a number, as text. */
function idOf(found: unknown): string | undefined {
  if (typeof found === 'number') return String(found);
  return typeof found === 'string' && found !== '' && found.length <= ID_CHARACTERS_MAX ? found : undefined;
}

const ID_CHARACTERS_MAX = 1_000;

function amountOf(found: unknown): number | undefined {
  return typeof found === 'number' && Number.isFinite(found) && found >= 0 ? found : undefined;
}

/** The forms of a `first_of`, one by one: an empty error message must not hide the state behind it. */
function failureForms(
  form: ValueForm | undefined,
  place: string,
): { readonly form: ValueForm; readonly place: string }[] {
  if (form === undefined) return [];
  if (typeof form === 'string' || !form.first_of || Object.keys(form).length > 1) return [{ form, place }];
  return form.first_of.map((one, index) => ({ form: one, place: placeOf(placeOf(place, 'first_of'), index) }));
}

function firstFailure(forms: readonly ReadValue[], run: MappingRun): string | undefined {
  for (const read of forms) {
    const failed = failureOf(read(run, run.document));
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** `false` and an empty text mean that the agent did not fail. */
function failureOf(found: unknown): string | undefined {
  if (found === undefined || found === null || found === false || found === '') return undefined;
  return clip(textOfValue(found) ?? 'The agent reported a failure.', FAILURE_BYTES_MAX).text;
}

const FAILURE_BYTES_MAX = 2_000;
