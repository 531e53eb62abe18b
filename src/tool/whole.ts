/** Whether a folder verifies, and which keys its seal says it is signed with; nobody has checked that yet. */
export async function wholeness(folder: string): Promise<{ isWhole: boolean; keyIds: readonly string[] | null }> {
  const { verify } = await import('../verify/index.ts');
  let isWhole = true;
  let keyIds: readonly string[] | null = null;
  for await (const { outcome, signatures } of verify([folder])) {
    isWhole &&= outcome === 'valid';
    if (signatures && signatures.signed > 0) keyIds = signatures.key_ids;
  }
  return { isWhole, keyIds };
}
