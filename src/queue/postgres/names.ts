import { bytesHash } from '../../base/hash.ts';
import type { AttemptRequest } from '../queue.ts';

/** The tables of pg-boss. Ours are in `proctor`. */
export const ENGINE_SCHEMA = 'proctor_queue';

/**
 * The pg-boss queue of a request. Requests with a limit of slots have a queue of their own, because only their claims
 * need a lock. pg-boss allows few characters in a name, so the others are written as `.` and two hexadecimal digits.
 */
export function engineQueue({ protocol, needs, slots }: Pick<AttemptRequest, 'protocol' | 'needs' | 'slots'>): string {
  return `${protocol}/${slots ? LIMITED : 'free'}/${needs.replaceAll(/[^\w/-]/g, hexOf)}`;
}

/** The engine queues that a worker may claim from. */
export function engineQueues(protocols: readonly number[], needs: readonly string[]): string[] {
  return protocols.flatMap(protocol =>
    needs.flatMap(need => [
      engineQueue({ protocol, needs: need }),
      engineQueue({ protocol, needs: need, slots: { target: '', max: 1 } }),
    ]),
  );
}

/** The needs in the name of an engine queue. */
export function needsOf(queue: string): string {
  return queue
    .split('/')
    .slice(2)
    .join('/')
    .replaceAll(/\.([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** The version of the requests in an engine queue. */
export function protocolOf(queue: string): number {
  return Number(queue.split('/')[0]);
}

export function isLimited(queue: string): boolean {
  return queue.split('/')[1] === LIMITED;
}

/** The job of an attempt. The same key is the same job, so offering it twice makes one. */
export function jobOf(key: string): string {
  const hex = bytesHash(key).slice('sha256:'.length);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

const LIMITED = 'slots';

function hexOf(character: string): string {
  return `.${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
