/** Whether this user owns a file. True on systems without users. */
export function isMine({ uid }: { readonly uid: number }): boolean {
  const me = process.geteuid?.();
  return me === undefined || uid === me;
}

/** Whether this user or root owns a file. */
export function isMineOrRoots(file: { readonly uid: number }): boolean {
  return file.uid === 0 || isMine(file);
}

/** Whether only this user can have written the file, so that its content can be trusted. */
export function isMineAlone(file: { readonly uid: number; readonly mode: number }): boolean {
  return isMine(file) && (file.mode & 0o022) === 0;
}
