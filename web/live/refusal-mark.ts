/** Why the server refused the address that the browser opened, such as a download; undefined for a view. */
const OPENED_REFUSAL = refusalIn(document.querySelector<HTMLMetaElement>('meta[name="refusal"]')?.content);

/** The address of the refused page. Another view forgets the refusal. */
const REFUSED_PATH = location.pathname;

export const refusedAt = (path: string) => (path === REFUSED_PATH ? OPENED_REFUSAL : undefined);

function refusalIn(text: string | undefined): { readonly code: string; readonly message: string } | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as { code: string; message: string });
}
