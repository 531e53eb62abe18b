/** The git files that the sandbox makes read-only to forbid an operation. Git must write to them to perform it. */
export const HELD_BY: Readonly<Record<string, readonly string[]>> = {
  commit: ['.git/HEAD', '.git/packed-refs', '.git/refs'],
  configure: ['.git/config', '.git/hooks'],
};
