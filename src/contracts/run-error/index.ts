import * as z from 'zod/mini';
import { canonicalize } from '../../base/canonical.ts';
import { hostPathIn } from '../../base/path.ts';
import { holdsSecret } from '../../base/redact.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
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
  why: 'Programs act on the code, so it must be a defined one.',
  asks: ['code is RUN_E001 to RUN_E007'],
  fields: ['code'],
  breach: error => ({ ...error, code: 'RUN_E999' }),
});

const RE2 = rule({
  id: 'RE2',
  title: 'Message For People',
  why: 'Users see the message, so it must not reveal host paths or secrets.',
  asks: ['message is not blank', 'it contains no host path and no credential'],
  fields: ['message'],
  *check({ message }) {
    if (hostPathIn(message)) yield must('message', 'contains a host path');
    if (holdsSecret(message)) yield must('message', 'contains what looks like a credential');
  },
  breach: error => ({ ...error, message: 'ENOENT: /home/someone/intent.json' }),
});

const RE3 = rule({
  id: 'RE3',
  title: 'Details Structured',
  why: 'Programs read the details, so they are structured: an object and the id of a rule.',
  asks: [
    'rule_id, if present, is the id of a rule such as RS3',
    'details, if present, is an object without host paths or credentials',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['rule_id', 'details'],
  *check({ details = {} }) {
    const text = canonicalize(details);
    if (hostPathIn(text)) yield must('details', 'contain a host path');
    if (holdsSecret(text)) yield must('details', 'contain what looks like a credential');
  },
  breach: error => ({ ...error, details: 'see the log' }),
});

export const runError: Contract = {
  name: 'run-error',
  title: 'Run error',
  tells: 'Why Proctor could not reach a decision on an intent.',
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
