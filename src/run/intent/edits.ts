import type { Intent, LIMIT_NAMES } from '../../contracts/intent/index.ts';
import { filledIn } from './placeholders.ts';
import { judgedIntent } from './read-intent.ts';
import { IntentFault } from './intent-fault.ts';

/** A change that an answer makes. Paths refer to the intent before all changes. */
export type Edit =
  | { readonly fill: string; readonly with: string }
  | { readonly drop: 'constraints' | 'outputs' | 'accept'; readonly index: number }
  | { readonly limit: (typeof LIMIT_NAMES)[number]; readonly value: number }
  | { readonly network: false }
  | { readonly output: string }
  | { readonly run: readonly string[]; readonly makes: readonly string[] }
  | { readonly expectZero: number }
  | { readonly merge: Readonly<Record<string, unknown>> };

/** Applies all changes at once, and validates the result like any other intent. */
export function edited(intent: Intent, edits: readonly Edit[]): Intent {
  const fills = new Map(edits.flatMap(edit => ('fill' in edit ? [[edit.fill, edit.with] as const] : [])));
  const filled = fills.size > 0 ? filledIn(intent, fills) : intent;
  const dropped = (list: 'constraints' | 'outputs' | 'accept'): ReadonlySet<number> =>
    new Set(edits.flatMap(edit => ('drop' in edit && edit.drop === list ? [edit.index] : [])));
  const kept = <Entry>(name: 'constraints' | 'outputs' | 'accept', list: readonly Entry[]): Entry[] => {
    const gone = dropped(name);
    return list.filter((_, index) => !gone.has(index));
  };
  const zeros = new Set(edits.flatMap(edit => ('expectZero' in edit ? [edit.expectZero] : [])));
  const limits = edits.flatMap(edit => ('limit' in edit ? [[edit.limit, edit.value] as const] : []));
  const outputs = edits.flatMap(edit => ('output' in edit ? [edit.output] : []));
  const commands = edits.flatMap(edit => ('run' in edit ? [{ argv: [...edit.run], makes: [...edit.makes] }] : []));
  const next = {
    ...filled,
    ...(filled.constraints && { constraints: kept('constraints', filled.constraints) }),
    ...((filled.outputs || outputs.length > 0) && {
      outputs: [...new Set([...kept('outputs', filled.outputs ?? []), ...outputs])],
    }),
    ...(filled.accept && {
      accept: kept(
        'accept',
        filled.accept.map((check, index) => (zeros.has(index) ? { ...check, equals: 0 } : check)),
      ),
    }),
    ...(commands.length > 0 && { commands: [...(filled.commands ?? []), ...commands] }),
    ...(limits.length > 0 && { limits: { ...filled.limits, ...Object.fromEntries(limits) } }),
    ...(edits.some(edit => 'network' in edit) && { network: false }),
  };
  return judgedIntent(
    edits.reduce<object>((all, edit) => ('merge' in edit ? mergeProposal(all, edit.merge) : all), next),
  );
}

/** Adds commands and checks to a bare goal. Keeps everything that the author wrote. */
export function mergeProposal(intent: object, proposal: Readonly<Record<string, unknown>>): object {
  const foreign = Object.keys(proposal).find(key => !PROPOSABLE.has(key));
  if (foreign !== undefined)
    throw new IntentFault('intent_invalid', 'The proposal has a key that must not be proposed.', {
      ruleId: 'IN1',
      details: { may_have: [...PROPOSABLE] },
    });
  return Object.fromEntries(
    [...new Set([...Object.keys(intent), ...Object.keys(proposal)])].map(key => [
      key,
      both((intent as Record<string, unknown>)[key], proposal[key]),
    ]),
  );
}

/** Concatenates lists and merges limits. The contract rejects any other form. */
function both(written: unknown, proposed: unknown): unknown {
  if (written === undefined || proposed === undefined) return written ?? proposed;
  if (Array.isArray(written) && Array.isArray(proposed)) {
    const known = new Set<unknown>(written);
    return [...written, ...proposed.filter(entry => !known.has(entry))];
  }
  const isObject = typeof proposed === 'object' && proposed !== null && !Array.isArray(proposed);
  return isObject ? { ...proposed, ...(written as object) } : proposed;
}

const PROPOSABLE: ReadonlySet<string> = new Set(['files', 'commands', 'outputs', 'accept', 'limits']);
