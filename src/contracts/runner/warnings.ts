/** Codes of the warnings that programs act on. A warning in a runner record has the form `code: text`. */
export type WarningCode = 'network' | 'version';

export function warningOf(code: WarningCode, text: string): string {
  return `${code}: ${text}`;
}

export function hasCode(warning: string, code: WarningCode): boolean {
  return warning.startsWith(`${code}: `);
}
