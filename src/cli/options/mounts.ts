import { Fault } from '../../base/fault.ts';

/** `DIR` or `DIR:PATH`, split at the last colon. */
export function mountOf(text: string): { dir: string; path?: string } {
  const at = text.lastIndexOf(':');
  const [dir, inside] = at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
  if (dir === '' || inside === '') throw new Fault('usage', 'Use --mount DIR or --mount DIR:PATH.');
  return { dir, ...(inside !== undefined && { path: inside }) };
}
