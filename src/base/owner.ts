/** Whether a file belongs to this user. Where there are no users, every file does. */
export function isMine({ uid }: { readonly uid: number }): boolean {
  const me = process.geteuid?.();
  return me === undefined || uid === me;
}

/** The same, or to root, from whom nothing can be kept anyway. */
export function isMineOrRoots(file: { readonly uid: number }): boolean {
  return file.uid === 0 || isMine(file);
}

/** Whether nobody else could have written it, so that what it says can be acted upon. */
export function isMineAlone(file: { readonly uid: number; readonly mode: number }): boolean {
  return isMine(file) && (file.mode & 0o022) === 0;
}
