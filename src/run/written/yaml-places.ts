import type { ParsedNode, Scalar } from 'yaml';
import { isWithin, placeOf } from '../../base/place.ts';
import { yamlLibrary } from './yaml-library.ts';

/** Returns the offset of the key at a path, or of its nearest existing parent. Does not follow aliases. */
export function offsetOf(node: ParsedNode | undefined, place: string): number {
  return offsetWithin(node, place, '') ?? node?.range[0] ?? 0;
}

function offsetWithin(node: ParsedNode | undefined, place: string, here: string): number | undefined {
  for (const { key, at, value } of partsOf(node)) {
    const there = placeOf(here, key);
    if (there === place) return at;
    if (isWithin(place, there)) return offsetWithin(value, place, there) ?? at;
  }
  return undefined;
}

interface Part {
  readonly key: string | number;
  readonly at: number;
  readonly value: ParsedNode | undefined;
}

function* partsOf(node: ParsedNode | undefined): Generator<Part> {
  const { isMap, isSeq } = yamlLibrary();
  if (isSeq(node)) {
    for (const [key, value] of node.items.entries()) yield { key, at: value.range[0], value };
  } else if (isMap(node)) {
    for (const { key, value } of node.items) {
      yield { key: String((key as Scalar.Parsed).value), at: key.range[0], value: value ?? undefined };
    }
  }
}
