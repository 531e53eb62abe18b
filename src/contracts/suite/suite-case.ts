import * as z from 'zod/mini';
import { ARTIFACT_ASKS } from '../artifacts/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { record } from '../shape.ts';
import { caseKeys } from './case-keys.ts';
import { CODING_ASKS, CODING_KEYS, codingFindings } from './coding-keys.ts';
import { EXPECTED_ASKS, expectedFindings } from './expected-rule.ts';
import { CS } from './invariants.ts';

const suiteCaseShape = record({ schema_version: z.literal('suite-case.v1'), ...caseKeys });

export type SuiteCase = z.infer<typeof suiteCaseShape>;

const rule = rulesFor<SuiteCase>();

const rules = [
  rule({
    ...CS.known,
    asks: ['schema_version is "suite-case.v1"', NO_UNKNOWN_KEYS],
    fields: ['schema_version'],
    breach: one => ({ ...one, schema_version: 'suite-case.v9' }),
  }),
  rule({
    ...CS.named,
    asks: ['id is a case id', ...ARTIFACT_ASKS.caseId, 'title and suite, if present, are strings'],
    fields: ['id', 'title', 'suite'],
    breach: one => ({ ...one, id: '../refund' }),
  }),
  rule({
    ...CS.input,
    asks: [
      'input has user (a string), and may have context of any type',
      'metadata, if present, is an object',
      ...CODING_ASKS,
    ],
    fields: ['input', 'metadata', ...CODING_KEYS],
    *check(one) {
      yield* codingFindings(one, '');
    },
    breach: one => ({ ...one, input: { user: null } }),
  }),
  rule({
    ...CS.expected,
    asks: EXPECTED_ASKS,
    fields: ['expected'],
    *check({ expected }) {
      if (expected) yield* expectedFindings(expected, 'expected');
    },
    breach: one => ({ ...one, expected: { json_path: [{ path: 'total' }] } }),
  }),
];

export const suiteCaseExample: SuiteCase = {
  schema_version: 'suite-case.v1',
  id: 'refund-small',
  title: 'A small refund is proposed with its evidence',
  suite: 'refunds',
  input: { user: 'My order A-1001 arrived damaged.', context: { locale: 'en' } },
  expected: {
    contains: ['19.99 EUR'],
    tool_sequence: ['orders.get'],
    action_required: ['issue_refund'],
    evidence_required_for_actions: true,
    json_path: [{ path: '$.total_cents', equals: 1_999 }],
    max_latency_ms: 15_000,
  },
  metadata: { severity: 'high' },
};

export const suiteCase: Contract = {
  name: 'suite-case',
  title: 'Case of a suite, as it was sent',
  tells: 'The input of one case, and what it expects of the answer; a line of assets/cases.ndjson.',
  schemaTells:
    'What one case asked, and what it expected of the answer; a line per case lies in assets/cases.ndjson. (Run folder of Proctor)',
  source: 'Proctor run folder',
  version: { field: 'schema_version', value: 'suite-case.v1' },
  shape: suiteCaseShape,
  rules,
  unknownKeys: CS.known.id,
  programText: ['title', 'suite', 'input', 'expected', 'metadata', ...CODING_KEYS],
  beyond: ['whether the case was sent exactly as recorded'],
  bytesMax: 4 * MIB,
  example: suiteCaseExample,
};
