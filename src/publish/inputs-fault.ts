import { Fault } from '../base/fault.ts';
import type { FieldFault } from './inputs.ts';

/** The inputs do not fit the script. `fields` says what is wrong with each. */
export class InputsFault extends Fault {
  readonly fields: readonly FieldFault[];

  constructor(fields: readonly FieldFault[]) {
    const named = fields.slice(0, NAMED_MAX).map(({ field, message }) => `${field}: ${message}`);
    const more = fields.length > NAMED_MAX ? ` There are ${fields.length - NAMED_MAX} more.` : '';
    super('bad_inputs', `The inputs do not fit the script. ${named.join(' ')}${more}`);
    this.fields = fields;
  }
}

const NAMED_MAX = 5;
