/** Where a filled text goes: into the path or the query of a URL, into a header, or into a body. */
export type TemplateEncoding = 'path' | 'query' | 'header' | 'none';

/** A value as it is written there. In URLs, everything but letters, digits and `-_.~` is percent-encoded. */
export function encodedText(text: string, encoding: TemplateEncoding): string {
  if (encoding !== 'path' && encoding !== 'query') return text;
  // encodeURIComponent throws on lone surrogates.
  return encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, percent);
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** Why the whole text cannot be sent; undefined if it can. */
export function refusedText(text: string, encoding: TemplateEncoding): string | undefined {
  if (encoding === 'header' && !HEADER.test(text)) {
    return 'A header cannot contain line feeds, other control characters or characters outside of Latin-1.';
  }
  // A URL parser resolves `..`, even in its encoded form, and would leave the declared path.
  if (encoding === 'path' && text.split(/[/\\?#]/).some(segment => DOTS.test(segment))) {
    return 'A path cannot contain the segments "." and "..".';
  }
  return undefined;
}

const HEADER = /^[\t\x20-\x7e\x80-\xff]*$/;
const DOTS = /^(?:\.|%2e){1,2}$/i;
