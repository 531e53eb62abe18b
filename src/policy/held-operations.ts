/** The git files that the sandbox makes read-only if an operation is forbidden. Without them, git cannot perform it. */
export const HELD_BY: Readonly<Record<string, readonly string[]>> = {
  commit: ['.git/HEAD', '.git/packed-refs', '.git/refs'],
  configure: ['.git/config', '.git/hooks'],
};
