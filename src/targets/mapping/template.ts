import { JSON_DEPTH_MAX } from '../../base/json-refusal.ts';
import { placeOf } from '../../base/place.ts';
import { CHARACTERS_PER_STEP, textOfValue, weightOf } from './json-text.ts';
import { type TemplateEncoding, encodedText, refusedText } from './template-encoding.ts';
import { nameFault, type TemplateValues, valueOfName } from './template-names.ts';

/** Why a template does not compile. The message is a sentence without the place. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  /** The key in the template, such as `body.messages[0].text`. */
  readonly place: string;

  constructor(place: string, message: string) {
    super(message);
    this.place = place;
  }
}

export interface TemplateOptions {
  /** Which known names have a value in this template. */
  readonly allowed: (name: string) => boolean;
  /** How values are written; `none` for a body, where a string of one placeholder keeps the type of its value. */
  readonly encoded?: TemplateEncoding;
  /** The key that holds the template, for messages. */
  readonly place?: string;
}

/** Compiles a tree of values with `${name}` placeholders in its strings, or throws a TemplateError. */
export function compileTemplate(tree: unknown, { allowed, encoded = 'none', place = '' }: TemplateOptions): Template {
  const names = new Set<string>();
  const fillTree = compileTree(tree, { allowed, encoded, names, size: { values: 0 } }, place, 0);
  return {
    names,
    fillIn: values => {
      try {
        return { ok: true, value: fillTree({ values, characters: 0 }) };
      } catch (error) {
        if (error instanceof TemplateError) return { ok: false, place: error.place, message: error.message };
        throw error;
      }
    },
  };
}

export interface Template {
  /** The names that the template uses. */
  readonly names: ReadonlySet<string>;
  /**
   * The tree with values instead of placeholders. Without a value, a key is left out of its object, an element is null, and
   * a part of a text is empty. The result is undefined if the whole template is one placeholder without a value.
   */
  readonly fillIn: (values: TemplateValues) => FilledTemplate;
}

/** The message never contains a value, which may be a secret. */
export type FilledTemplate =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly place: string; readonly message: string };

type Fill = (filling: Filling) => unknown;

interface Filling {
  readonly values: TemplateValues;
  /** How much text was filled in so far. */
  characters: number;
}

interface Context {
  readonly allowed: (name: string) => boolean;
  readonly encoded: TemplateEncoding;
  readonly names: Set<string>;
  readonly size: { values: number };
}

const VALUES_MAX = 10_000;
const FILLED_CHARACTERS_MAX = 16 * 1024 * 1024;

function compileTree(tree: unknown, context: Context, place: string, depth: number): Fill {
  if (++context.size.values > VALUES_MAX) throw new TemplateError(place, 'A template has at most 10,000 values.');
  if (depth > JSON_DEPTH_MAX) throw new TemplateError(place, `A template has at most ${JSON_DEPTH_MAX} levels.`);
  if (typeof tree === 'string') return compileText(tree, context, place);
  if (Array.isArray(tree)) {
    const elements = tree.map((element, index) => compileTree(element, context, placeOf(place, index), depth + 1));
    return filling => elements.map(fill => fill(filling) ?? null);
  }
  if (typeof tree !== 'object' || tree === null) {
    return () =>
      context.encoded === 'none' || tree === null ? tree : encodedText(JSON.stringify(tree), context.encoded);
  }
  const members = Object.entries(tree).map(([key, member]) => {
    const at = placeOf(place, key);
    if (key.includes('${')) throw new TemplateError(at, 'A key cannot contain a placeholder.');
    return [key, compileTree(member, context, at, depth + 1)] as const;
  });
  return filling =>
    Object.fromEntries(
      members.flatMap(([key, fill]) => {
        const value = fill(filling);
        return value === undefined ? [] : [[key, value]];
      }),
    );
}

function compileText(text: string, context: Context, place: string): Fill {
  const parts = partsOf(text, context, place);
  const { encoded } = context;
  const [only] = parts;
  if (parts.length === 1 && only && 'name' in only) return fillOne(only.name, encoded, place);
  return filling => filledText(parts, filling, encoded, place);
}

type Part = { readonly text: string } | { readonly name: string };

/** Splits a string at its placeholders. `$${` is a literal `${`. */
function partsOf(text: string, { allowed, names }: Context, place: string): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const { 0: found, 1: name, index } of text.matchAll(PLACEHOLDER)) {
    if (index > from) parts.push({ text: text.slice(from, index) });
    from = index + found.length;
    if (found === '$${') parts.push({ text: '${' });
    else {
      if (name === undefined)
        throw new TemplateError(place, 'A placeholder has no closing brace. Write $${ for a literal ${.');
      const fault = nameFault(name, allowed);
      if (fault !== undefined) throw new TemplateError(place, fault);
      names.add(name);
      parts.push({ name });
    }
  }
  if (from < text.length) parts.push({ text: text.slice(from) });
  return parts;
}

const PLACEHOLDER = /\$\$\{|\$\{(?:([^{}]*)\})?/g;

/** A string that is one placeholder: the value keeps its type, unless it becomes part of a URL or a header. */
function fillOne(name: string, encoded: TemplateEncoding, place: string): Fill {
  return filling => {
    const value = valueOfName(name, filling.values);
    if (encoded === 'none') {
      count(filling, weightOf(value) * CHARACTERS_PER_STEP, place);
      return value;
    }
    if ((value === undefined || value === null) && encoded !== 'path') return undefined;
    return filledText([{ name }], filling, encoded, place);
  };
}

function filledText(parts: readonly Part[], filling: Filling, encoded: TemplateEncoding, place: string): string {
  let text = '';
  for (const part of parts) {
    const more = 'name' in part ? partText(part.name, filling.values, encoded, place) : literalText(part.text, encoded);
    count(filling, more.length, place);
    text += more;
  }
  const refused = refusedText(text, encoded);
  if (refused !== undefined) throw new TemplateError(place, refused);
  return text;
}

function count(filling: Filling, characters: number, place: string): void {
  filling.characters += characters;
  if (filling.characters > FILLED_CHARACTERS_MAX) {
    throw new TemplateError(place, 'The filled template is larger than 16 MiB.');
  }
}

/** The author writes paths and headers as they are sent. In a query, every character of a value is data. */
function literalText(text: string, encoded: TemplateEncoding): string {
  return encoded === 'query' ? encodedText(text, encoded) : text;
}

function partText(name: string, values: TemplateValues, encoded: TemplateEncoding, place: string): string {
  const value = valueOfName(name, values);
  const text = value === undefined || value === null ? '' : textOfValue(value);
  if (text === undefined) throw new TemplateError(place, `The value of \${${name}} is nested too deeply.`);
  // Otherwise /jobs/${poll.id} would ask for /jobs/, which is another resource.
  if (text === '' && encoded === 'path')
    throw new TemplateError(place, `\${${name}} has no value, but a path needs one.`);
  return encodedText(text, encoded);
}
