import { JSON_DEPTH_MAX } from '../base/json-refusal.ts';
import { readJson } from '../base/json.ts';
import { readFrames } from './mapping/frames.ts';

/**
 * Joins the texts of a reply that have the same path in every frame and list element, as a mapping could. Empty if the
 * reply is neither JSON nor a stream.
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

/** A path without list indexes. Places form a tree, because a reply can have many long paths. */
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
