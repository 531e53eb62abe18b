/** The git files that the sandbox makes read-only to forbid an operation. Git cannot perform it without writing to them. */
export const HELD_BY: Readonly<Record<string, readonly string[]>> = {
  commit: ['.git/HEAD', '.git/packed-refs', '.git/refs'],
  configure: ['.git/config', '.git/hooks'],
};
