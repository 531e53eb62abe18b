import { placeOf } from '../../base/place.ts';
import type { CollectForm } from '../../contracts/target/mapping.ts';
import { joinedTexts } from './json-text.ts';
import { pathAt } from './mapping-error.ts';
import type { MappingRun, ReadValue } from './mapping-run.ts';
import { type CompiledPath, selectAll, selectFirst } from './path.ts';

/**
 * Reads the pieces that belong to an item, joined: arguments that a stream sends in deltas. All forms with the same `each`
 * and `key` share one index per reply, so the cost is linear in the number of pieces.
 */
export function compileCollect(
  { each, key, key_of_item: own, value }: CollectForm,
  place: string,
  indexes: Map<string, PieceIndex>,
  readOwn: (own: CollectForm['key_of_item'], place: string) => ReadValue,
  finish: (text: unknown) => unknown,
): ReadValue {
  const pieces = pathAt(placeOf(place, 'each'), each, '$');
  const keyOfPiece = pathAt(placeOf(place, 'key'), key, '@');
  const valueOfPiece = pathAt(placeOf(place, 'value'), value, '@');
  const keyOfItem = readOwn(own, placeOf(place, 'key_of_item'));
  const name = JSON.stringify([each, key]);
  const index = indexes.get(name) ?? { pieces, keyOfPiece };
  indexes.set(name, index);
  const owner = {};
  return (run, item) => {
    const wanted = keyOfItem(run, item);
    const found = run.once(index, () => groupsOf(index, run)).get(wanted);
    if (!found) return undefined;
    return run.shared(owner, wanted, () => {
      const values = found.map(piece => selectFirst(valueOfPiece, piece, run.budget) ?? null);
      return finish(joinedTexts(values, ''));
    });
  };
}

/** How pieces are grouped. */
export interface PieceIndex {
  readonly pieces: CompiledPath;
  readonly keyOfPiece: CompiledPath;
}

function groupsOf({ pieces, keyOfPiece }: PieceIndex, run: MappingRun): Map<unknown, unknown[]> {
  const groups = new Map<unknown, unknown[]>();
  for (const piece of selectAll(pieces, run.document, run.budget)) {
    const key = selectFirst(keyOfPiece, piece, run.budget);
    // Objects never equal another value, so they cannot be keys.
    if (key === undefined || typeof key === 'object') continue;
    const group = groups.get(key);
    if (group) group.push(piece);
    else groups.set(key, [piece]);
  }
  return groups;
}
