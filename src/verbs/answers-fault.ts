import { Fault } from '../base/fault.ts';

/** Some answers do not fit their questions. `fields` says what is wrong with each, by the id of its question. */
export class AnswersFault extends Fault {
  readonly fields: readonly { readonly field: string; readonly message: string }[];

  constructor(fields: AnswersFault['fields']) {
    super('bad_answers', `${fields.length === 1 ? 'An answer does' : `${fields.length} answers do`} not fit.`);
    this.fields = fields;
  }
}
