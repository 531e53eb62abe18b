import { canonicalize } from '../../base/canonical.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { type Names, WEIGHT } from './difference.ts';
import { differingKeys, quoted, quotedList } from './quoted.ts';
import type { UnorderedDifference } from './step-words.ts';

type Action = NonNullable<CaseArtifact['proposed_actions']>[number];

/** An action with its index in its side's list. */
type Numbered = readonly [index: number, action: Action];

/** The first proposed action that differs. Actions that both sides propose match regardless of position. */
export function actionDifference(
  before: readonly Action[],
  now: readonly Action[],
  names: Names,
): UnorderedDifference | undefined {
  const { gone, come, isMoved } = unmatched(before, now);
  for (const was of gone) {
    const is = come.find(([, action]) => nameOf(action) === nameOf(was[1]));
    if (is) return otherParams(was, is);
  }
  const [was, is] = [gone[0], come[0]];
  if (was && is) return otherAction(was, is, names);
  if (was) return oneSided(was, now, names, 'did not propose', 'fewer');
  if (is) return oneSided(is, before, names, 'proposed', 'more');
  if (!isMoved) return undefined;
  const says = `${names.is} proposed the same actions in a different order`;
  return {
    kind: 'tool_order',
    baselineAt: placeOf(0),
    newAt: placeOf(0),
    says,
    weight: WEIGHT.otherwise,
    atMost: 'medium',
  };
}

/** The actions that only one side proposes, and whether the others are in a different order. */
function unmatched(
  before: readonly Action[],
  now: readonly Action[],
): { gone: Numbered[]; come: Numbered[]; isMoved: boolean } {
  const waiting = new Map<string, number[]>();
  for (const [index, action] of [...now.entries()].reverse()) {
    const key = keyOf(action);
    const list = waiting.get(key);
    if (list) list.push(index);
    else waiting.set(key, [index]);
  }
  const gone: Numbered[] = [];
  const partners: number[] = [];
  for (const [index, action] of before.entries()) {
    const partner = waiting.get(keyOf(action))?.pop();
    if (partner === undefined) gone.push([index, action]);
    else partners.push(partner);
  }
  const taken = new Set(partners);
  const come = [...now.entries()].filter(([index]) => !taken.has(index));
  return { gone, come, isMoved: partners.some((partner, index) => partner < (partners[index - 1] ?? 0)) };
}

function nameOf({ action_type, tool_name }: Action): string {
  return canonicalize([action_type, tool_name]);
}

function keyOf(action: Action): string {
  return canonicalize([nameOf(action), action.params, action.evidence_refs.length]);
}

function placeOf(index: number): string {
  return `proposed_actions[${index}]`;
}

function otherParams([before, was]: Numbered, [now, is]: Numbered): UnorderedDifference {
  const places = { baselineAt: placeOf(before), newAt: placeOf(now), weight: WEIGHT.otherwise } as const;
  const keys = differingKeys(was.params, is.params);
  const action = quoted(is.action_type);
  return keys.length > 0
    ? { ...places, kind: 'tool_arguments', says: `The action ${action} has different parameters: ${quotedList(keys)}` }
    : { ...places, kind: 'output', says: `The action ${action} is based on different evidence` };
}

function otherAction([before, was]: Numbered, [now, is]: Numbered, names: Names): UnorderedDifference {
  const [baseline, candidate] =
    was.action_type === is.action_type ? [was.tool_name, is.tool_name] : [was.action_type, is.action_type];
  return {
    kind: 'tool_choice',
    baselineAt: placeOf(before),
    newAt: placeOf(now),
    says: `${names.is} proposed ${quoted(candidate)} where ${names.was} proposed ${quoted(baseline)}`,
    tools: [baseline, candidate],
    weight: WEIGHT.otherwise,
  };
}

/** An action with no counterpart on the other side. */
function oneSided(
  [index, { action_type }]: Numbered,
  others: readonly Action[],
  names: Names,
  does: 'proposed' | 'did not propose',
  count: 'more' | 'fewer',
): UnorderedDifference {
  const isNew = does === 'proposed';
  const isElsewhere = others.some(action => action.action_type === action_type);
  const action = quoted(action_type);
  const says = isElsewhere
    ? `proposed the action ${action} ${count} times than ${names.was}`
    : `${isNew ? 'also ' : ''}${does} the action ${action}`;
  return {
    kind: 'tool_choice',
    baselineAt: isNew ? null : placeOf(index),
    newAt: isNew ? placeOf(index) : null,
    says: `${names.is} ${says}`,
    tools: [action_type],
    weight: WEIGHT.otherwise,
    ...(isElsewhere && { atMost: 'medium' as const }),
  };
}
