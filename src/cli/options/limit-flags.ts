import { type Command, InvalidArgumentError } from 'commander';
import type { GateLimits } from '../../contracts/gate/limits/index.ts';
import { wholeNumber } from '../text/units.ts';

/** Flags for the most common limits. A gate file can set all limits. */
export interface LimitFlags {
  readonly minPassRate?: number;
  readonly maxFailing?: number;
  readonly maxFlaky?: number;
}

export function addLimitFlags(command: Command): Command {
  return command
    .option('--min-pass-rate <share>', 'fail if the pass rate is below this share, such as 0.9', share)
    .option('--max-failing <count>', 'fail if more than this many cases fail in every trial', wholeNumber)
    .option('--max-flaky <count>', 'fail if more than this many cases are flaky; requires --repeat', wholeNumber);
}

/** The limits in the flags; undefined if there are none. */
export function limitsFromFlags({ minPassRate, maxFailing, maxFlaky }: LimitFlags): GateLimits | undefined {
  const limits: GateLimits = {
    ...(minPassRate !== undefined && { min_pass_rate: minPassRate }),
    ...(maxFailing !== undefined && { max_failing: maxFailing }),
    ...(maxFlaky !== undefined && { max_flaky: maxFlaky }),
  };
  return Object.keys(limits).length > 0 ? limits : undefined;
}

function share(text: string): number {
  if (!/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.test(text)) {
    throw new InvalidArgumentError('Use a number from 0 to 1, such as 0.9.');
  }
  return Number(text);
}
