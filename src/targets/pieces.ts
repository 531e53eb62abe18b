import { JSON_DEPTH_MAX } from '../base/json-refusal.ts';
import { readJson } from '../base/json.ts';
import { readFrames } from './mapping/frames.ts';

/**
 * The texts of a reply that belong together: those at the same path in every frame and in every element of a list, joined.
 * A mapping could join them. Empty if the reply is no JSON and no stream.
 */
export function joinedPieces(body: Buffer): string[] {
  const found: string[] = [];
  const root = new Place();
  collect(documentIn(body), root, 0);
  for (const { texts } of root.all()) if (texts.length > 1) found.push(texts.join(''));
  return found;
}

function documentIn(body: Buffer): unknown {
  const reading = readJson(body, { bytesMax: body.length });
  if (reading.ok) return reading.value;
  const events = readFrames(body, 'sse');
  if (events.ok && events.document.frames.length > 0) return dataOf(events.document);
  const lines = readFrames(body, 'ndjson');
  return lines.ok ? dataOf(lines.document) : undefined;
}

const dataOf = ({ frames }: { readonly frames: readonly { readonly data: unknown }[] }): unknown[] =>
  frames.map(({ data }) => data);

/** A place in all elements of all lists around it. A tree, because paths as texts could be long and many. */
class Place {
  readonly texts: string[] = [];
  readonly #members = new Map<string, Place>();

  member(name: string): Place {
    let place = this.#members.get(name);
    if (!place) this.#members.set(name, (place = new Place()));
    return place;
  }

  *all(): Generator<Place> {
    yield this;
    for (const place of this.#members.values()) yield* place.all();
  }
}

function collect(value: unknown, place: Place, depth: number): void {
  if (typeof value === 'string') place.texts.push(value);
  if (typeof value !== 'object' || value === null || depth > JSON_DEPTH_MAX) return;
  if (Array.isArray(value)) for (const element of value) collect(element, place, depth + 1);
  else for (const [name, member] of Object.entries(value)) collect(member, place.member(name), depth + 1);
}
