import { bytesHash } from '../base/hash.ts';
import { newSessionId } from '../base/ids.ts';
import { Fault } from '../base/fault.ts';
import { TWICE_MAX, type TwiceChoice } from '../contracts/made-twice/index.ts';
import type { Signer } from '../contracts/seal/index.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import type { RunSuiteOptions } from './run-suite.ts';

/** Rejects a share that is not one. */
export function checkTwice({
  twice: share,
  queue,
  targetSlots,
}: Pick<RunSuiteOptions, 'twice' | 'queue' | 'targetSlots'>): void {
  if (share === undefined) return;
  if (typeof share !== 'number' || !(share > 0 && share <= 1))
    throw new Fault('usage', 'The share of attempts to make twice must be more than 0 and at most 1, such as 0.02.');
  if (queue === undefined) throw new Fault('usage', '--twice requires a queue. Add --queue.');
  if (targetSlots !== undefined)
    throw new Fault('usage', '--target-slots cannot limit the attempts that --twice adds. Omit one of them.');
}

/** A second attempt is compared by its stored reply, and the runs of scripts and agents have none. */
export function checkTwiceTarget({ kind }: SuiteTarget, share: number | undefined): void {
  if ((kind === 'script' || kind === 'agent') && share !== undefined)
    throw new Fault(
      'usage',
      `Attempts of ${kind === 'agent' ? 'an agent' : 'a script'} cannot be made twice. Omit --twice.`,
    );
}

/**
 * Selects the attempts of a run that are made twice. The salt follows from the signing key, which workers do not have,
 * so a folder that is rebuilt with the same key has the same selection. Without a key it is random.
 */
export function twiceChoice(share: number, signer: Signer | undefined): (runId: string, cases: number) => TwiceChoice {
  return (runId, cases) => {
    if (share * cases > TWICE_MAX)
      throw new Fault(
        'usage',
        `At most ${TWICE_MAX} attempts of a run can be made twice. This run has ${cases} cases, so --twice must be at most ${(TWICE_MAX / cases).toPrecision(2)}.`,
      );
    const secret = signer?.sign([Buffer.from(`proctor made twice ${runId}`)]) ?? newSessionId();
    return { share, salt: bytesHash(secret).slice('sha256:'.length) };
  };
}
