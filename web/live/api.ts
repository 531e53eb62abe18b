/** The only file of the pages that talks to the network: the API of the server that sent the page. */
export async function ask<Answer>(path: string): Promise<Answer> {
  const secret = new URLSearchParams(location.hash.slice(1)).get('secret');
  const response = await fetch(path, { headers: secret === null ? {} : { authorization: `Bearer ${secret}` } });
  const value = (await response.json()) as Answer & { readonly error?: { readonly message: string } };
  if (!response.ok) throw new Error(value.error?.message ?? 'The server did not answer.');
  return value;
}
