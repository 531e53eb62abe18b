import { type AccessRefusal, type Incoming, valueOf } from './incoming.ts';

/** How a request proves who sends it. A browser adds cookies by itself; it never adds an Authorization header. */
export type Proof = 'cookie' | 'header' | 'none';

/**
 * Refuses a request that a page of another site made a browser send. Without a proof, only headers that are there can
 * refuse it: this guards signing in, which programs may do without a browser.
 */
export function foreignPageRefusal(incoming: Incoming, proof: Proof, origin: string): AccessRefusal | undefined {
  if (proof === 'header') return undefined;
  const from = valueOf(incoming, 'origin');
  const site = valueOf(incoming, 'sec-fetch-site');
  if (isReading(incoming.method))
    return proof === 'none' || mayRead(incoming, from, site, origin) ? undefined : FOREIGN;
  // Browsers send `null` for pages whose origin is hidden. It equals no server.
  if (from !== undefined && from !== origin) return FOREIGN;
  if (site !== undefined && site !== 'same-origin') return FOREIGN;
  if (from === undefined && site === undefined && proof === 'cookie') return FOREIGN;
  return undefined;
}

/** Following a link from elsewhere is fine. Embedding, framing or fetching this server's answers is not. */
function mayRead(
  incoming: Incoming,
  from: ReturnType<typeof valueOf>,
  site: ReturnType<typeof valueOf>,
  origin: string,
): boolean {
  if (from !== undefined && from !== origin) return false;
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  return valueOf(incoming, 'sec-fetch-mode') === 'navigate' && valueOf(incoming, 'sec-fetch-dest') === 'document';
}

function isReading(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}

const FOREIGN: AccessRefusal = {
  status: 403,
  code: 'foreign_page',
  message: 'A page of another site sent this request, so it was not carried out. Open the page of this server.',
};
