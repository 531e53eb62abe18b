import { childOf, type PathKey, valueBelow } from './path-filter.ts';
import { type ParsedPath, parsePath, type PathSegment } from './path-syntax.ts';
import type { StepBudget } from './step-budget.ts';

/** A path, ready to be used on many documents. */
export interface CompiledPath {
  readonly text: string;
  readonly root: ParsedPath['root'];
  readonly steps: readonly Step[];
  /** The keys of a path that leads to at most one value. */
  readonly keys?: readonly PathKey[];
}

/** One or more keys in a row, or a segment that may select several values. */
type Step = { readonly kind: 'keys'; readonly keys: readonly PathKey[] } | Exclude<PathSegment, { kind: 'key' }>;

/** Compiles a path, or throws a PathError that names the offset. */
export function compilePath(text: string): CompiledPath {
  const { root, segments } = parsePath(text);
  const steps = stepsOf(segments);
  const [first] = steps;
  if (first === undefined) return { text, root, steps, keys: [] };
  return { text, root, steps, ...(steps.length === 1 && first.kind === 'keys' && { keys: first.keys }) };
}

function stepsOf(segments: readonly PathSegment[]): Step[] {
  const steps: Step[] = [];
  for (const segment of segments) {
    const last = steps.at(-1);
    if (segment.kind !== 'key') steps.push(segment);
    else if (last?.kind === 'keys') steps[steps.length - 1] = { kind: 'keys', keys: [...last.keys, segment.key] };
    else steps.push({ kind: 'keys', keys: [segment.key] });
  }
  return steps;
}

/** All values that a path selects, in the order of the document. Throws TooManySteps. */
export function selectAll(path: CompiledPath, from: unknown, budget: StepBudget): readonly unknown[] {
  if (path.keys) {
    const value = only(path.keys, from, budget);
    return value === undefined ? [] : [value];
  }
  return walk(path.steps, { values: [from] }, budget).values;
}

/** The first selected value that is not null; undefined if there is none. Throws TooManySteps. */
export function selectFirst(path: CompiledPath, from: unknown, budget: StepBudget): unknown {
  if (path.keys) return only(path.keys, from, budget) ?? undefined;
  return selectAll(path, from, budget).find(value => value !== null);
}

/** Like `selectAll`, with the place of each value. Throws TooManySteps. */
export function selectPlaced(path: CompiledPath, from: unknown, budget: StepBudget): PlacedNodes {
  return walk(path.steps, { values: [from], places: [undefined] }, budget) as PlacedNodes;
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

function walk(steps: readonly Step[], from: Nodes, budget: StepBudget): Nodes {
  let nodes = from;
  for (const step of steps) {
    const found: Nodes = from.places ? { values: [], places: [] } : { values: [] };
    budget.take(nodes.values.length);
    for (const [index, value] of nodes.values.entries()) {
      if (typeof value === 'object' && value !== null) visit(step, value, nodes.places?.[index], found, budget);
    }
    nodes = found;
  }
  return nodes;
}

function visit(step: Step, value: object, place: NodePlace | undefined, found: Nodes, budget: StepBudget): void {
  if (step.kind === 'keys') {
    descend(step.keys, value, place, found);
    return;
  }
  const holds = step.kind === 'filter' ? step.filter.holds : isAny;
  const tests = step.kind === 'filter' ? step.filter.tests : 1;
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

function descend(keys: readonly PathKey[], from: object, place: NodePlace | undefined, found: Nodes): void {
  const value = valueBelow(from, keys);
  if (value === undefined) return;
  found.values.push(value);
  if (!found.places) return;
  let parent = place;
  let container: unknown = from;
  for (const key of keys) {
    parent = placeIn(container as object, key, parent);
    container = childOf(container, key);
  }
  found.places.push(parent);
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
  places?.push(placeIn(container, key, parent));
}

/** A negative index is counted from the front. */
function placeIn(container: object, key: PathKey, parent: NodePlace | undefined): NodePlace {
  const position = Array.isArray(container) && Number(key) < 0 ? container.length + Number(key) : key;
  return { container, key: position, depth: (parent?.depth ?? 0) + 1, parent };
}
