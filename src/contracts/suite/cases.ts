import * as z from 'zod/mini';
import { ARTIFACT_ASKS } from '../artifacts/words.ts';
import { type Contract, MIB } from '../contract.ts';
import { firstRepeated } from '../lists.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { record } from '../shape.ts';
import { caseKeys } from './case-keys.ts';
import { CODING_ASKS, CODING_KEYS, codingFindings, codingKeys } from './coding-keys.ts';
import { EXPECTED_ASKS, expectedFindings } from './expected-rule.ts';
import { CS } from './invariants.ts';
import { suiteCaseExample } from './suite-case.ts';

/** In the user's file the input is optional. */
const writtenCase = record({ ...caseKeys, input: z.optional(caseKeys.input) });

const casesShape = record({
  /** Editors use it for completion and validation. */
  $schema: z.optional(z.string()),
  schema_version: z.literal('cases.v1'),
  suite: z.optional(z.string()),
  cases: z.array(writtenCase),
  /** Defaults of every case. Checks are joined with those of the case; any other key of the case wins. */
  ...codingKeys,
});

type Cases = z.infer<typeof casesShape>;

const rule = rulesFor<Cases>();

const rules = [
  rule({
    ...CS.known,
    asks: [
      'schema_version is "cases.v1"; suite, if present, is a string',
      '$schema, if present, is a string; editors use it, and Proctor ignores it',
      'cases is a list of objects',
      NO_UNKNOWN_KEYS,
    ],
    fields: ['$schema', 'schema_version', 'suite', 'cases'],
    breach: file => ({ ...file, schema_version: 'cases.v9' }),
  }),
  rule({
    ...CS.named,
    asks: [
      'id is a case id',
      ...ARTIFACT_ASKS.caseId,
      'no id is a duplicate, ignoring case',
      'title and suite, if present, are strings',
    ],
    fields: ['cases[].id', 'cases[].title', 'cases[].suite'],
    *check({ cases }) {
      const repeated = firstRepeated(cases.map(({ id }) => id.toLowerCase()));
      if (repeated !== undefined) {
        yield must(`cases[${repeated}].id`, 'is a duplicate, ignoring case');
      }
    },
    breach: file => ({ ...file, cases: [...file.cases, ...file.cases] }),
  }),
  rule({
    ...CS.input,
    asks: [
      'input, if present, has user (a string), and may have context of any type',
      'metadata, if present, is an object',
      ...CODING_ASKS,
      'the same keys beside cases are the defaults of every case; checks of both are joined, file first',
    ],
    fields: ['cases[].input', 'cases[].metadata', ...CODING_KEYS, ...CODING_KEYS.map(key => `cases[].${key}` as const)],
    *check({ cases, ...defaults }) {
      yield* codingFindings(defaults, '');
      for (const [index, one] of cases.entries()) yield* codingFindings(one, `cases[${index}]`);
    },
    breach: file => ({ ...file, cases: file.cases.map(one => ({ ...one, input: 'My order arrived damaged.' })) }),
  }),
  rule({
    ...CS.expected,
    asks: EXPECTED_ASKS,
    fields: ['cases[].expected'],
    *check({ cases }) {
      for (const [index, { expected }] of cases.entries()) {
        if (expected) yield* expectedFindings(expected, `cases[${index}].expected`);
      }
    },
    breach: file => ({ ...file, cases: file.cases.map(one => ({ ...one, expected: { contains: [''] } })) }),
  }),
];

const { schema_version: _, ...written } = suiteCaseExample;

const example: Cases = { schema_version: 'cases.v1', suite: 'refunds', cases: [written] };

export const cases: Contract = {
  name: 'cases',
  title: 'Cases of a suite, as people write them',
  tells: 'What to ask an agent, case by case, and what to expect of its answers.',
  source: 'Proctor, run suite',
  version: { field: 'schema_version', value: 'cases.v1' },
  shape: casesShape,
  rules,
  unknownKeys: CS.known.id,
  programText: ['$schema', 'suite', 'cases', ...CODING_KEYS],
  beyond: ['whether the scripts that cases name exist'],
  bytesMax: 256 * MIB,
  example,
};
