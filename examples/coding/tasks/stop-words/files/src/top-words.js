/** Returns the most frequent words of a text, the most frequent first. Equally frequent words are in alphabetical order. */
export function topWords(text, limit = 10) {
  const counts = new Map();
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
  const ranked = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return ranked.slice(0, limit).map(([word]) => word);
}
