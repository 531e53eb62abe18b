import type { PathKey } from './path-filter.ts';
import type { NodePlace } from './path.ts';

/**
 * Compares places by their position in one document: a container before its members, members in the order of their keys.
 * Objects are compared by identity, so the document must be a tree, as every parsed document is.
 */
export class DocumentOrder {
  readonly #positions = new Map<object, Map<string, number>>();

  compare(left: NodePlace | undefined, right: NodePlace | undefined): number {
    const depth = (left?.depth ?? 0) - (right?.depth ?? 0);
    let a = raised(left, right?.depth ?? 0);
    let b = raised(right, left?.depth ?? 0);
    while (a && b && a.container !== b.container) {
      a = a.parent;
      b = b.parent;
    }
    if (!a || !b || a.key === b.key) return depth;
    return this.#positionOf(a.container, a.key) - this.#positionOf(b.container, b.key);
  }

  #positionOf(container: object, key: PathKey): number {
    if (typeof key === 'number') return key;
    let positions = this.#positions.get(container);
    if (!positions) {
      positions = new Map(Object.keys(container).map((name, index) => [name, index]));
      this.#positions.set(container, positions);
    }
    return positions.get(key) ?? 0;
  }
}

/** The ancestor at a depth, or the place itself if it is not deeper. */
function raised(place: NodePlace | undefined, depth: number): NodePlace | undefined {
  let at = place;
  while (at && at.depth > depth) at = at.parent;
  return at;
}
