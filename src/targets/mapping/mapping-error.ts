import { type CompiledPath, compilePath } from './path.ts';
import { PathError } from './path-text.ts';

/** Why a mapping does not compile. The message is a sentence without the place. */
export class MappingError extends Error {
  override readonly name = 'MappingError';
  /** The key in the mapping, such as `events[1].call_id`. */
  readonly place: string;
  /** Where in the path, in UTF-16 units from 0, if the path is wrong. */
  readonly offset: number | undefined;

  constructor(place: string, message: string, offset?: number) {
    super(message);
    this.place = place;
    this.offset = offset;
  }
}

/** Compiles the path at `place`. `$` is always allowed; `@` only where there is an item. */
export function pathAt(place: string, text: string, roots: '$' | '@' | '$@'): CompiledPath {
  let path: CompiledPath;
  try {
    path = compilePath(text);
  } catch (error) {
    if (!(error instanceof PathError)) throw error;
    const { offset, message } = error;
    throw new MappingError(place, `The path is not valid at character ${offset + 1}: ${message}.`, offset);
  }
  if (roots.includes(path.root)) return path;
  throw new MappingError(place, WRONG_ROOT[path.root], 0);
}

const WRONG_ROOT = {
  $: 'This path must start with @, because it is read from each item.',
  '@': 'This path must start with $, because there is no item here.',
} as const;
