/** A text of at most `unitsMax` UTF-16 units, with an ellipsis if it was cut. Half a character becomes U+FFFD. */
export function shortened(text: string, unitsMax: number): string {
  return text.length <= unitsMax ? text : `${text.slice(0, unitsMax - 1).toWellFormed()}…`;
}
