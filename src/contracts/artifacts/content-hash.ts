/** Normalizes a digest for comparison. */
export function contentHashOf(digest: string): string {
  return `sha256:${digest.slice(-64).toLowerCase()}`;
}
