import { Fault } from '../../base/fault.ts';

/** The values of --allow-target. */
export function allowedOrigins(texts: readonly string[]): string[] {
  return texts.map(text => {
    const origin = URL.canParse(text) ? new URL(text).origin : 'null';
    if (!/^https?:/.test(origin) || text.replace(/\/$/, '') !== origin)
      throw new Fault('usage', 'Specify an origin without a path: --allow-target https://agent.example.');
    return origin;
  });
}
