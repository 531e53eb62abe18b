import { childOf, type PathKey, valueBelow } from './path-filter.ts';
import { type ParsedPath, parsePath, type PathSegment } from './path-syntax.ts';
import type { StepBudget } from './step-budget.ts';

/** A path, ready to be used on many documents. */
export interface CompiledPath extends ParsedPath {
  readonly text: string;
  /** The keys of a path that leads to at most one value. */
  readonly keys?: readonly PathKey[];
}

/** Compiles a path, or throws a PathError that names the offset. */
export function compilePath(text: string): CompiledPath {
  const { root, segments } = parsePath(text);
  const keys = segments.flatMap(segment => (segment.kind === 'key' ? [segment.key] : []));
  return { text, root, segments, ...(keys.length === segments.length && { keys }) };
}

/** All values that a path selects, in the order of the document. Throws TooManySteps. */
export function selectAll(path: CompiledPath, from: unknown, budget: StepBudget): readonly unknown[] {
  if (path.keys) {
    const value = only(path.keys, from, budget);
    return value === undefined ? [] : [value];
  }
  return walk(path.segments, { values: [from] }, budget).values;
}

/** The first selected value that is not null; undefined if there is none. Throws TooManySteps. */
export function selectFirst(path: CompiledPath, from: unknown, budget: StepBudget): unknown {
  if (path.keys) return only(path.keys, from, budget) ?? undefined;
  return selectAll(path, from, budget).find(value => value !== null);
}

/** Like `select`, with the place of each value. Throws TooManySteps. */
export function selectPlaced(path: CompiledPath, from: unknown, budget: StepBudget): PlacedNodes {
  return walk(path.segments, { values: [from], places: [undefined] }, budget) as PlacedNodes;
}

export interface PlacedNodes {
  readonly values: readonly unknown[];
  /** Parallel to `values`. */
  readonly places: readonly (NodePlace | undefined)[];
}

/** Where a value is: in which container, at which key. The document itself has no place. */
export interface NodePlace {
  readonly container: object;
  readonly key: PathKey;
  readonly depth: number;
  readonly parent: NodePlace | undefined;
}

function only(keys: readonly PathKey[], from: unknown, budget: StepBudget): unknown {
  budget.take(1);
  return valueBelow(from, keys);
}

interface Nodes {
  readonly values: unknown[];
  readonly places?: (NodePlace | undefined)[];
}

function walk(segments: readonly PathSegment[], from: Nodes, budget: StepBudget): Nodes {
  let nodes = from;
  for (const segment of segments) {
    const found: Nodes = from.places ? { values: [], places: [] } : { values: [] };
    budget.take(nodes.values.length);
    for (const [index, value] of nodes.values.entries()) {
      if (typeof value === 'object' && value !== null) visit(segment, value, nodes.places?.[index], found, budget);
    }
    nodes = found;
  }
  return nodes;
}

function visit(
  segment: PathSegment,
  value: object,
  place: NodePlace | undefined,
  found: Nodes,
  budget: StepBudget,
): void {
  if (segment.kind === 'key') {
    const child = childOf(value, segment.key);
    if (child !== undefined) keep(found, child, value, positionIn(value, segment.key), place);
    return;
  }
  const holds = segment.kind === 'filter' ? segment.filter.holds : isAny;
  const tests = segment.kind === 'filter' ? segment.filter.tests : 1;
  if (Array.isArray(value)) {
    budget.take(value.length * tests);
    for (let index = 0; index < value.length; index++) {
      const child: unknown = value[index];
      if (holds(child)) keep(found, child, value, index, place);
    }
    return;
  }
  const names = Object.keys(value);
  budget.take(names.length * tests);
  for (const name of names) {
    const child = (value as Record<string, unknown>)[name];
    if (holds(child)) keep(found, child, value, name, place);
  }
}

/** The same key, with a negative index counted from the front. */
function positionIn(container: object, key: PathKey): PathKey {
  return Array.isArray(container) && typeof key === 'number' && key < 0 ? container.length + key : key;
}

const isAny = (): boolean => true;

function keep(
  { values, places }: Nodes,
  child: unknown,
  container: object,
  key: PathKey,
  parent: NodePlace | undefined,
): void {
  values.push(child);
  places?.push({ container, key, depth: (parent?.depth ?? 0) + 1, parent });
}
