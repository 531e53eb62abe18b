import { keyIdOf, publicKeyIn } from '../../base/ed25519.ts';
import { ARTIFACT_ASKS } from '../artifacts/words.ts';
import type { Claim } from '../claim.ts';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { type MadeTwice, madeTwiceShape, TWICE_KINDS, type TwiceCase } from './shape.ts';
import { twiceSums } from './sums.ts';

export { isChosenTwice, type TwiceChoice } from './chosen.ts';
export { type MadeTwice, TWICE_KINDS, type TwiceCase, twiceCaseShape, type TwiceKind } from './shape.ts';
export { twiceSums, twiceText } from './sums.ts';

/** The file of a run that says which attempts two workers made, and where they differ. */
export const MADE_TWICE = 'evidence/twice.json';

/** The most attempts of one run that Proctor makes twice, so that the file stays below its limit. */
export const TWICE_MAX = 20_000;

const rule = rulesFor<MadeTwice>();

const rules = [
  versionRule('TW1', 'Made Twice Version Known', 'made-twice.v1', 'the attempts that two workers made'),
  rule({
    id: 'TW2',
    title: 'Counts Follow',
    why: 'A reader looks at the counts first, so they must not hide a case.',
    asks: [
      'run_id is the id of the run, and share is more than 0 and at most 1',
      'cases lists every chosen attempt, with a different case_id each',
      ...ARTIFACT_ASKS.caseId,
      'chosen is the number of cases, made the number with a second outcome, and differing the number that differ',
      'differ has the number of cases that differ in outcome, verdict and text',
    ],
    fields: ['run_id', 'share', 'chosen', 'made', 'differing', 'differ', 'cases'],
    *check(document) {
      const sums = twiceSums(document.cases);
      for (const key of ['chosen', 'made', 'differing'] as const)
        if (document[key] !== sums[key]) yield must(key, 'does not follow from the cases');
      for (const kind of TWICE_KINDS)
        if (document.differ[kind] !== sums.differ[kind]) yield must(`differ.${kind}`, 'does not follow from the cases');
      if (new Set(document.cases.map(one => one.case_id)).size < document.cases.length)
        yield must('cases', 'must not list a case twice');
    },
    breach: document => ({ ...document, made: document.made + 1 }),
  }),
  rule({
    id: 'TW3',
    title: 'Two Keys',
    why: 'A worker that checks itself proves nothing.',
    asks: [
      'first and second have worker, key_id, public_key, outcome_sha256 and verdict (pass, fail, or null if unknown)',
      'key_id is the id of public_key, an Ed25519 key as Proctor writes it',
      'the key_id of second is not that of first',
      'second has again (1 to 99) and reply, the file with its reply, or null if first has the same or second has none',
      ...ARTIFACT_ASKS.portablePath,
    ],
    fields: [],
    reads: ['cases'],
    *check({ cases }) {
      for (const [index, { first, second }] of cases.entries()) {
        for (const [name, side] of Object.entries({ first, second }))
          if (side && idOfKey(side.public_key) !== side.key_id)
            yield must(`cases[${index}].${name}.key_id`, 'is not the id of public_key');
        if (second && second.key_id === first?.key_id)
          yield must(`cases[${index}].second.key_id`, 'is the key that signed the first outcome');
      }
    },
    breach: document =>
      withCase(document, one => ({ ...one, second: one.second && { ...one.second, ...keysOf(one) } })),
  }),
  rule({
    id: 'TW4',
    title: 'Unknown Is Not Same',
    why: 'An attempt without a second worker must not look like one on which two workers agree.',
    asks: [
      'attempt and first are both present, or both null',
      'without second, differs is null and why is not_answered, no_other_worker, lost or refused',
      'why is not_answered if and only if first is null',
      'with second, why is null and differs lists outcome, verdict and text, in this order, each at most once',
      'outcome: only one of the two is an answer, or they failed in different classes',
      'verdict: both have a verdict, and these differ; text: both are answers, and they differ apart from ids and times',
    ],
    fields: [],
    reads: ['cases'],
    *check({ cases }) {
      for (const [index, one] of cases.entries())
        for (const [key, message] of faultsOf(one)) yield must(`cases[${index}].${key}`, message);
    },
    breach: document => withCase(document, one => ({ ...one, attempt: null })),
  }),
];

function* faultsOf({ attempt, first, second, why, differs }: TwiceCase): Generator<readonly [string, string]> {
  if ((attempt === null) !== (first === null)) yield ['attempt', 'must be null if and only if first is'];
  if ((second === null) !== (differs === null)) yield ['differs', 'must be null if and only if second is'];
  if ((second === null) !== (why !== null)) yield ['why', 'must be null if and only if second is present'];
  if ((first === null) !== (why === 'not_answered')) yield ['why', 'is not_answered if and only if first is null'];
  if (!first || !second || !differs) return;
  const sorted = TWICE_KINDS.filter(kind => differs.includes(kind));
  if (sorted.join() !== differs.join()) yield ['differs', 'must list outcome, verdict and text in this order'];
  const isOther = first.verdict !== null && second.verdict !== null && first.verdict !== second.verdict;
  if (isOther !== differs.includes('verdict')) yield ['differs', 'does not follow from the two verdicts'];
  if (differs.includes('outcome') && differs.length > 1) yield ['differs', 'must not list more than outcome'];
}

/** The id of a key in PEM, if it is written as Proctor writes it. */
function idOfKey(pem: string): string | undefined {
  const key = publicKeyIn(pem);
  return key && key.export({ type: 'spki', format: 'pem' }) === pem ? keyIdOf(key) : undefined;
}

function keysOf({ first }: TwiceCase): Partial<NonNullable<TwiceCase['first']>> {
  return first ? { key_id: first.key_id, public_key: first.public_key } : {};
}

function withCase(document: MadeTwice, change: (one: TwiceCase) => TwiceCase): MadeTwice {
  return { ...document, cases: document.cases.map((one, index) => (index === 0 ? change(one) : one)) };
}

const example: MadeTwice = {
  schema_version: 'made-twice.v1',
  run_id: 'suite_20260403_101500_4f1c9a7be210',
  share: 0.02,
  chosen: 2,
  made: 1,
  differing: 1,
  differ: { outcome: 0, verdict: 1, text: 1 },
  cases: [
    {
      case_id: 'refund-small',
      attempt: 1,
      first: {
        worker: 'worker-1',
        key_id: 'sha256:172cb3b79826cffc9d9754c00f8573209e5876e38adc50a817ffecd0a16d11c9',
        public_key:
          '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAYgBo+FsiGIJfDYNvgUrEPV4iCKxU49T6AtdgGRA7bLk=\n-----END PUBLIC KEY-----\n',
        outcome_sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
        verdict: 'pass',
      },
      second: {
        worker: 'worker-2',
        key_id: 'sha256:8e63de0144ef191e527d8cde2ad0667b7dfccd5628e71eee90624b7369a06600',
        public_key:
          '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAVWQnRHhmpU2rmVL7FnvZmZJ1PrVNUML12xtiKjjU93I=\n-----END PUBLIC KEY-----\n',
        outcome_sha256: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4',
        verdict: 'fail',
        again: 1,
        reply: 'assets/refund-small.1.again-1.reply',
      },
      why: null,
      differs: ['verdict', 'text'],
    },
    { case_id: 'refund-large', attempt: null, first: null, second: null, why: 'not_answered', differs: null },
  ],
};

export const madeTwice: Contract = {
  name: 'made-twice',
  title: 'Attempts made twice',
  tells: 'Which attempts of a suite two workers with different keys made, and where they differ; evidence/twice.json.',
  source: 'Run folder of Proctor',
  version: { field: 'schema_version', value: 'made-twice.v1' },
  shape: madeTwiceShape,
  rules,
  unknownKeys: 'TW1',
  programText: ['cases'],
  *claims({ cases }: MadeTwice): Generator<Claim> {
    for (const [index, { second }] of cases.entries())
      if (second?.reply) yield { at: `cases[${index}].second.reply`, file: second.reply };
  },
  claimsFrom: 1,
  beyond: ['the verdicts, which depend on the expectations', 'whether the owners of the two keys are different people'],
  bytesMax: 32 * MIB,
  example,
};
