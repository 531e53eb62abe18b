import { type Command, InvalidArgumentError } from 'commander';
import type { Limits } from '../contracts/gate/limits/index.ts';
import { wholeNumber } from './units.ts';

/** The flags of the limits that are asked for most; a gate file has all of them. */
export interface LimitFlags {
  readonly minPassRate?: number;
  readonly maxFailing?: number;
  readonly maxFlaky?: number;
}

export function addLimitFlags(command: Command): Command {
  return command
    .option('--min-pass-rate <share>', 'fail if a smaller share of trials passes, such as 0.9', share)
    .option('--max-failing <count>', 'fail if more cases fail in every trial', wholeNumber)
    .option('--max-flaky <count>', 'fail if more cases both pass and fail; needs --repeat', wholeNumber);
}

/** The limits that flags name; undefined where none does. */
export function limitsOf({ minPassRate, maxFailing, maxFlaky }: LimitFlags): Limits | undefined {
  const limits: Limits = {
    ...(minPassRate !== undefined && { min_pass_rate: minPassRate }),
    ...(maxFailing !== undefined && { max_failing: maxFailing }),
    ...(maxFlaky !== undefined && { max_flaky: maxFlaky }),
  };
  return Object.keys(limits).length > 0 ? limits : undefined;
}

function share(text: string): number {
  if (!/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.test(text)) {
    throw new InvalidArgumentError('It takes a number from 0 to 1, such as 0.9.');
  }
  return Number(text);
}
