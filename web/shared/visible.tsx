import type { ComponentChildren } from 'preact';

/**
 * Characters that could hide or reorder text: controls, bidirectional overrides, zero-width characters, separators,
 * tags and lone surrogates. Keeps a joiner between two emoji.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|(?<!\p{Extended_Pictographic}\ufe0f?)\u200d|\p{Cs}/gu;

const nameOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Further hidden characters of a text are named without a mark. */
const MARKS_MAX = 100;

/** The agent's text with hidden characters made visible. */
export function Text({ value }: { readonly value: string }) {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const { 0: character, index } of value.matchAll(HIDDEN)) {
    // Each mark is an element, and a text of 64,000 marks would stall the page.
    if (parts.length >= 2 * MARKS_MAX) return <>{[...parts, plain(value.slice(end))]}</>;
    parts.push(value.slice(end, index), <span class="hidden-character">{nameOf(character)}</span>);
    end = index + character.length;
  }
  return end === 0 ? <>{value}</> : <>{[...parts, value.slice(end)]}</>;
}

/** The same for attributes and other plain text. */
export function plain(text: string): string {
  return text.replace(HIDDEN, character => `⟨${nameOf(character)}⟩`);
}
