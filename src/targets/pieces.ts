import { JSON_DEPTH_MAX } from '../base/json-refusal.ts';
import { readJson } from '../base/json.ts';
import { readFrames } from './mapping/frames.ts';

/**
 * The texts of a reply that belong together: those at the same path in every frame and in every element of a list, joined.
 * A mapping could join them. Empty if the reply is no JSON and no stream.
 */
export function joinedPieces(body: Buffer): string[] {
  const texts = new Map<string, string[]>();
  collect(documentIn(body), '', texts, 0);
  return [...texts.values()].filter(pieces => pieces.length > 1).map(pieces => pieces.join(''));
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

/** The path has the names of objects only, so that all elements of a list share it. */
function collect(value: unknown, path: string, texts: Map<string, string[]>, depth: number): void {
  if (typeof value === 'string') {
    const pieces = texts.get(path);
    if (pieces) pieces.push(value);
    else texts.set(path, [value]);
  }
  if (typeof value !== 'object' || value === null || depth > JSON_DEPTH_MAX) return;
  const isList = Array.isArray(value);
  for (const [name, member] of Object.entries(value)) {
    collect(member, isList ? path : `${path}/${name}`, texts, depth + 1);
  }
}
