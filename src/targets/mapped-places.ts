import { clip } from '../base/clip.ts';
import type { TargetDeclaration } from '../contracts/target/index.ts';
import type { ReplyMapping } from '../contracts/target/mapping.ts';
import { replyFormOf } from './kinds/kinds.ts';
import { documentOf, type KeptReply } from './mapped-reader.ts';
import { applyMapping, compileMapping, type MappedReply } from './mapping/mapping.ts';
import { compilePath, selectAll } from './mapping/path.ts';
import { StepBudget, withinSteps } from './mapping/step-budget.ts';

/** One key of a mapping: how it is written, and whether it found something in a reply. */
export interface MappedPlace {
  /** Such as `events[0].call_id`. */
  readonly place: string;
  readonly form: string;
  readonly isFound: boolean;
  /** What it found: a value, or a number of items. */
  readonly found?: string;
}

/** What the keys of a target's mapping found in a reply. Empty if the reply cannot be read, or needs no mapping. */
export function mappedPlaces(declaration: TargetDeclaration, kept: KeptReply, bytesMax: number): MappedPlace[] {
  const form = replyFormOf(declaration);
  const document = form && documentOf(kept, form.as, bytesMax);
  if (!form || !document?.ok) return [];
  const mapped = applyMapping(compileMapping(form.mapping), document.value);
  if (!mapped.ok) return [];
  const empty = new Set(mapped.empty);
  return [...singlePlaces(form.mapping, mapped, empty), ...rulePlaces(form.mapping, document.value, empty)];
}

type Mapped = Extract<MappedReply, { ok: true }>;

function* singlePlaces(
  { final_output, workflow_id, model, session, failed, usage = {} }: ReplyMapping,
  { reply, ...mapped }: Mapped,
  empty: ReadonlySet<string>,
): Generator<MappedPlace> {
  const place = (name: string, written: unknown, value: unknown): MappedPlace => {
    const isFound = value !== undefined && !empty.has(name);
    const found = value === undefined ? {} : { found: valueText(value) };
    return { place: name, form: formText(written), isFound, ...found };
  };
  yield place('final_output', final_output, reply.final_output?.content);
  if (workflow_id !== undefined) yield place('workflow_id', workflow_id, reply.workflow_id);
  if (model !== undefined) yield place('model', model, mapped.model);
  if (session !== undefined) yield place('session', session, mapped.session);
  // Most replies report no failure, so only a failure is worth a line.
  if (failed !== undefined && mapped.failed !== undefined) yield place('failed', failed, mapped.failed);
  for (const [key, form] of Object.entries(usage)) {
    yield place(`usage.${key}`, form, mapped.usage[key as keyof typeof usage]);
  }
}

/** The keys of a rule are tried only if its `each` finds an item. */
function* rulePlaces(
  { events = [], proposed_actions = [] }: ReplyMapping,
  document: unknown,
  empty: ReadonlySet<string>,
): Generator<MappedPlace> {
  for (const [list, rules] of Object.entries({ events, proposed_actions })) {
    for (const [index, rule] of rules.entries()) {
      const { each, as: _, ...keys } = rule as Record<string, unknown> & { each: string; as?: string };
      const items = withinSteps(() => selectAll(compilePath(each), document, new StepBudget()).length) ?? 0;
      const at = `${list}[${index}]`;
      const found = items === 1 ? '1 item' : `${items} items`;
      yield { place: `${at}.each`, form: each, isFound: items > 0, found };
      if (items === 0) continue;
      for (const [key, form] of Object.entries(keys)) {
        yield { place: `${at}.${key}`, form: formText(form), isFound: !empty.has(`${at}.${key}`) };
      }
    }
  }
}

function formText(form: unknown): string {
  return typeof form === 'string' ? form : JSON.stringify(form);
}

function valueText(value: unknown): string {
  return clip(JSON.stringify(value) ?? '', VALUE_BYTES_MAX).text;
}

const VALUE_BYTES_MAX = 60;
