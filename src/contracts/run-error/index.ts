import * as z from 'zod/mini';
import { canonicalize } from '../../base/canonical.ts';
import { hostPathIn } from '../../base/path.ts';
import { holdsSecret } from '../../base/redact.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor } from '../rule.ts';
import { anyObject, matching, record, wordyText } from '../shape.ts';

const runErrorShape = record({
  code: z.enum(['RUN_E001', 'RUN_E002', 'RUN_E003', 'RUN_E004', 'RUN_E005', 'RUN_E006', 'RUN_E007']),
  message: wordyText(),
  rule_id: z.optional(matching(/^[A-Z]{2}\d{1,3}$/, 'the id of a rule such as RS3')),
  details: z.optional(anyObject()),
});

export type RunError = z.infer<typeof runErrorShape>;

const rule = rulesFor<RunError>();

const RE1 = rule({
  id: 'RE1',
  title: 'Error Code Known',
  why: 'Programs act on the code; one that nobody defined means nothing to them.',
  asks: ['code is RUN_E001 to RUN_E007'],
  fields: ['code'],
  breach: error => ({ ...error, code: 'RUN_E999' }),
});

const RE2 = rule({
  id: 'RE2',
  title: 'Message For People',
  why: 'It is shown to whoever started the run, so it holds no path of the machine and no secret.',
  asks: ['message is not blank', 'it holds no path of a machine and no credential'],
  fields: ['message'],
  *check({ message }) {
    if (hostPathIn(message)) yield must('message', 'holds a path of a machine');
    if (holdsSecret(message)) yield must('message', 'holds what looks like a credential');
  },
  breach: error => ({ ...error, message: 'ENOENT: /home/someone/intent.json' }),
});

const RE3 = rule({
  id: 'RE3',
  title: 'Details Structured',
  why: 'What is more than a message is for programs, and so an object and a rule they can look up.',
  asks: [
    'rule_id, if present, is the id of a rule such as RS3',
    'details, if present, is an object, without a path of a machine and without a credential',
    'should (must, when strict): no key is unknown',
  ],
  fields: ['rule_id', 'details'],
  *check({ details = {} }) {
    const text = canonicalize(details);
    if (hostPathIn(text)) yield must('details', 'hold a path of a machine');
    if (holdsSecret(text)) yield must('details', 'hold what looks like a credential');
  },
  breach: error => ({ ...error, details: 'see the log' }),
});

export const runError: Contract = {
  name: 'run-error',
  title: 'Run error',
  tells: 'Why the harness could not decide on an intent at all.',
  source: 'Run Result Specification 1.0.0, section 5',
  shape: runErrorShape,
  rules: [RE1, RE2, RE3],
  unknownKeys: 'RE3',
  bytesMax: MIB,
  example: {
    code: 'RUN_E003',
    message: 'The intent has no goal.',
    rule_id: 'RS3',
    details: { field: 'goal' },
  } satisfies RunError,
};
