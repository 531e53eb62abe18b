import type { AttemptRequest, NeededScript, WorkerOffer } from './queue.ts';

/** Whether a worker that makes this offer runs the script of an attempt. Attempts without a script pass. */
export function allowsScript(offered: WorkerOffer['scripts'], { script, needs }: Needed): boolean {
  if (!script || !offered) return true;
  const isOpen = script.network === 'open';
  if (isOpen && offered.network === 'blocked') return false;
  // Any script could send what it finds.
  return offered.digests.includes(script.sha256) || (offered.isAny && !isOpen && !needs.includes('+'));
}

/** What an attempt needs, with its script if it has one. */
interface Needed {
  readonly needs: string;
  readonly script?: NeededScript | undefined;
}

/** A script in one word, for names that have no room for an object. */
export function scriptWord({ sha256, network }: NeededScript): string {
  return `${sha256}/${network}`;
}

/** The script in a name that ends with its word. */
export function scriptIn(name: string): NeededScript | undefined {
  const [, sha256, network] = WORD.exec(name) ?? [];
  if (sha256 === undefined) return undefined;
  return { sha256, network: network === 'open' ? 'open' : 'blocked' };
}

/** What a limit of slots counts. A script with other bytes is another target. */
export function limitedTarget({ slots, script }: Pick<AttemptRequest, 'slots' | 'script'>): string | undefined {
  return slots && (script ? `${slots.target} ${scriptWord(script)}` : slots.target);
}

/** What waits, as an overview shows it: the needs, with the script before the secrets. */
export function shownNeeds({ needs, script }: Needed): string {
  if (!script) return needs;
  const [what = '', ...secrets] = needs.split('+');
  return [`${what}/${script.sha256}`, ...secrets].join('+');
}

const WORD = /(sha256:[0-9a-f]{64})\/(open|blocked)$/;
