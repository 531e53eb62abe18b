/**
 * The files of git that are read-only in the sandbox where an operation is forbidden. Without them git makes no commit on
 * any branch, and takes no setting and no hook.
 */
export const HELD_BY: Readonly<Record<string, readonly string[]>> = {
  commit: ['.git/HEAD', '.git/packed-refs', '.git/refs'],
  configure: ['.git/config', '.git/hooks'],
};
