import { Fault } from '../../base/fault.ts';
import type { Identity } from './identity.ts';
import { type Incoming, type SEVERAL, oneHeader } from './incoming.ts';

/**
 * Refuses a request that a page of another site made a browser send. A browser adds cookies by itself, but never an
 * Authorization header. Without either, only headers that are there can refuse: programs may sign in without a browser.
 */
export function refuseForeignPage(incoming: Incoming, via: Identity['via'], origin: string | undefined): void {
  if (via === 'token') return;
  const isAct = !isRead(incoming);
  const from = oneHeader(incoming, 'origin');
  const site = oneHeader(incoming, 'sec-fetch-site');
  // Browsers send the origin `null` for pages that hide theirs. It equals no server.
  if ((isAct || via === 'session') && from !== undefined && from !== origin) throw foreign();
  if (isAct && site !== undefined && site !== 'same-origin') throw foreign();
  if (isAct && via === 'session' && from === undefined && site === undefined) throw foreign();
  if (!isAct && via === 'session' && !mayRead(incoming, site)) throw foreign();
}

/** Whether a request changes nothing. */
export function isRead({ method }: Incoming): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Following a link from elsewhere is fine. Embedding, framing or fetching this server's answers is not. */
function mayRead(incoming: Incoming, site: string | undefined | typeof SEVERAL): boolean {
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  return oneHeader(incoming, 'sec-fetch-mode') === 'navigate' && oneHeader(incoming, 'sec-fetch-dest') === 'document';
}

function foreign(): Fault {
  return new Fault(
    'wrong_origin',
    'A page of another site sent this request, so nothing was done. Use the page of this server.',
  );
}
