import { bytesHash } from '../../base/hash.ts';

/** The share of the attempts to make twice, and the secret that selects them. */
export interface TwiceChoice {
  readonly share: number;
  /** 64 hexadecimal digits that workers do not know. */
  readonly salt: string;
}

/** Whether a case is chosen. A worker cannot tell, because it does not know the salt until the run is sealed. */
export function isChosenTwice({ share, salt }: TwiceChoice, runId: string, caseId: string): boolean {
  const digest = bytesHash(JSON.stringify([salt, runId, caseId])).slice('sha256:'.length);
  return Number.parseInt(digest.slice(0, DIGITS), 16) < share * 16 ** DIGITS;
}

/** 48 bits, which a number holds exactly. */
const DIGITS = 12;
