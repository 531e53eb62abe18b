/** Whether a folder verifies, and which keys its seal names. Does not check the signatures. */
export async function wholeness(folder: string): Promise<{ isWhole: boolean; keyIds: readonly string[] | null }> {
  // Loaded lazily, because `proctor list` imports this module but verifies nothing.
  const { verify } = await import('../verify/index.ts');
  let isWhole = true;
  let keyIds: readonly string[] | null = null;
  for await (const { outcome, signatures } of verify([folder])) {
    isWhole &&= outcome === 'valid';
    if (signatures && signatures.signed > 0) keyIds = signatures.key_ids;
  }
  return { isWhole, keyIds };
}
