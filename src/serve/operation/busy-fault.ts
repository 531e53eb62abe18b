import { Fault } from '../../base/fault.ts';

/** A fault that passes by itself, with the number of seconds after which to try again. */
export class BusyFault extends Fault {
  readonly retryAfterS: number;

  constructor(code: string, message: string, retryAfterS: number) {
    super(code, message);
    this.retryAfterS = retryAfterS;
  }
}
