import { ASKS } from '../agent-step/words.ts';
import { must, rulesFor } from '../rule.ts';
import type { LedgerLine } from './shape.ts';

const rule = rulesFor<LedgerLine>();

/** LD1 to LD4 are those of the ledger that intents had before; the others bind a line to the one before it. */
export const ledgerRules = [
  rule({
    id: 'LD1',
    title: 'One JSON Per Line',
    why: 'A hash over a line is worth something only if there is one way to write it.',
    asks: [
      'schema_version is "ledger-line.v1"',
      'in a ledger every line is one canonical JSON document (RFC 8785), and ends in a line feed, also the last',
      'should (must, when strict): no key is unknown',
    ],
    fields: ['schema_version'],
    breach: line => ({ ...line, schema_version: 'ledger-line.v9' }),
  }),
  rule({
    id: 'LD2',
    title: 'Times In Order',
    why: 'Who reads a ledger reads it as a history. It is advice: many processes seal at once, and clocks are set back.',
    asks: [
      'sealed_at is an instant',
      ...ASKS.instant,
      'should: in a ledger it is not before sealed_at of the line before',
    ],
    fields: ['sealed_at'],
    breach: line => ({ ...line, sealed_at: 'today' }),
  }),
  rule({
    id: 'LD3',
    title: 'Each Run Once',
    why: 'A run that stands in it twice was counted twice.',
    asks: [
      'run_id is a name, and no other line of the ledger has it, but for one of the other side of a suite',
      ...ASKS.name,
      'kind is script, agent, intent or suite',
      'version, if present, is baseline or new, and kind is suite',
    ],
    fields: ['run_id', 'kind', 'version'],
    *check({ kind, version }) {
      if (version !== undefined && kind !== 'suite') yield must('version', 'belongs to the line of a suite');
    },
    breach: line => ({ ...line, run_id: '../elsewhere' }),
  }),
  rule({
    id: 'LD4',
    title: 'Hashes Formed',
    why: 'A hash without its algorithm, or in another form, is compared with nothing.',
    asks: [
      'seal_sha256, over the bytes of evidence/seal.json, is sha256: and 64 lower-case hexadecimal digits',
      'so are intent.intent_sha256, and intent.bundle_sha256 where it is not null',
    ],
    fields: ['seal_sha256', 'intent.intent_sha256', 'intent.bundle_sha256'],
    breach: line => ({ ...line, seal_sha256: line.seal_sha256.slice('sha256:'.length) }),
  }),
  rule({
    id: 'LD5',
    title: 'Sequence Without Gap',
    why: 'A line that was taken away leaves a gap where it stood.',
    asks: ['sequence is a whole number from 1 up', 'in a ledger the first is 1, and every other one more than before'],
    fields: ['sequence'],
    breach: line => ({ ...line, sequence: 0.5 }),
  }),
  rule({
    id: 'LD6',
    title: 'Chain Whole',
    why: 'Each line holds the one before it fast, and so all of them: none can be changed and the rest stay as it is.',
    asks: [
      'previous_sha256 is null where sequence is 1, and nowhere else',
      'in a ledger it is sha256: and the digest over the bytes of the line before, with its line feed',
    ],
    fields: ['previous_sha256'],
    reads: ['sequence'],
    *check({ previous_sha256: previous, sequence }) {
      if (sequence === 1 && previous !== null) yield must('previous_sha256', 'must be null in the first line');
      if (sequence > 1 && previous === null) yield must('previous_sha256', 'must not be null after the first line');
    },
    breach: line => ({ ...line, previous_sha256: null }),
  }),
  rule({
    id: 'LD7',
    title: 'Intent Told',
    why: 'What an intent came to is what people look for in a ledger, and no other run has it.',
    asks: [
      'intent is an object where kind is intent, and null elsewhere',
      'result_kind is BUNDLE, CLARIFY or REFUSE; mode is plan-only or execute-sandbox; policy is the name of a profile',
      'bundle_sha256 is null in a REFUSE, and nowhere else',
      'accepted is true or false, and false in a CLARIFY or REFUSE',
    ],
    fields: ['intent', 'intent.result_kind', 'intent.accepted', 'intent.mode', 'intent.policy'],
    reads: ['kind', 'intent.bundle_sha256'],
    *check({ kind, intent }) {
      if (kind === 'intent' && intent === null) yield must('intent', 'must not be null in the line of an intent');
      if (kind !== 'intent' && intent !== null)
        yield must('intent', `must be null in the line of a run of kind ${kind}`);
      if (intent === null) return;
      const { result_kind: came, bundle_sha256: bundle, accepted } = intent;
      if (came === 'REFUSE' && bundle !== null) yield must('intent.bundle_sha256', 'must be null in a REFUSE');
      if (came !== 'REFUSE' && bundle === null) yield must('intent.bundle_sha256', `must not be null in a ${came}`);
      if (came !== 'BUNDLE' && accepted) yield must('intent.accepted', `must be false in a ${came}`);
    },
    breach: line => ({ ...line, kind: 'script' }),
  }),
];
