import { STEP_ASKS } from '../agent-step/words.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import type { LedgerLine } from './shape.ts';

const rule = rulesFor<LedgerLine>();

/** LD1 to LD4 come from the earlier ledger of intents; the others link each line to the previous one. */
export const ledgerRules = [
  rule({
    id: 'LD1',
    title: 'One JSON Per Line',
    why: 'The hash of a line is meaningful only if there is exactly one way to write the line.',
    asks: [
      'schema_version is "ledger-line.v1"',
      'in a ledger, every line is one canonical JSON document (RFC 8785) and ends with a line feed, including the last',
      NO_UNKNOWN_KEYS,
    ],
    fields: ['schema_version'],
    breach: line => ({ ...line, schema_version: 'ledger-line.v9' }),
  }),
  rule({
    id: 'LD2',
    title: 'Times In Order',
    why: 'A ledger is a history. The order is only advice, because processes seal concurrently and clocks can be set back.',
    asks: [
      'sealed_at is an instant',
      ...STEP_ASKS.instant,
      'should: in a ledger, it is not before sealed_at of the previous line',
    ],
    fields: ['sealed_at'],
    breach: line => ({ ...line, sealed_at: 'today' }),
  }),
  rule({
    id: 'LD3',
    title: 'Each Run Once',
    why: 'A run that is listed twice is counted twice.',
    asks: [
      'run_id is a name, and unique in the ledger, except that both sides of a suite may share it',
      ...STEP_ASKS.name,
      'kind is script, agent, intent or suite',
      'version, if present, is baseline or new, and kind is suite',
    ],
    fields: ['run_id', 'kind', 'version'],
    *check({ kind, version }) {
      if (version !== undefined && kind !== 'suite') yield must('version', 'is allowed only for a suite');
    },
    breach: line => ({ ...line, run_id: '../elsewhere' }),
  }),
  rule({
    id: 'LD4',
    title: 'Hashes Formed',
    why: 'Hashes can be compared only if all have the same form and name their algorithm.',
    asks: [
      'seal_sha256, over the bytes of evidence/seal.json, is sha256: followed by 64 lower-case hexadecimal digits',
      'so are intent.intent_sha256, and intent.bundle_sha256 unless it is null',
    ],
    fields: ['seal_sha256', 'intent.intent_sha256', 'intent.bundle_sha256'],
    breach: line => ({ ...line, seal_sha256: line.seal_sha256.slice('sha256:'.length) }),
  }),
  rule({
    id: 'LD5',
    title: 'Sequence Without Gap',
    why: 'A removed line leaves a gap in the sequence.',
    asks: ['sequence is a positive integer', 'in a ledger, the first is 1 and each line adds 1'],
    fields: ['sequence'],
    breach: line => ({ ...line, sequence: 0.5 }),
  }),
  rule({
    id: 'LD6',
    title: 'Chain Whole',
    why: 'Each line contains the hash of the previous one, so a change to any line breaks all later hashes.',
    asks: [
      'previous_sha256 is null if and only if sequence is 1',
      'in a ledger, it is the hash of the bytes of the previous line, including its line feed',
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
    why: 'Users look up the result of an intent in the ledger; other runs have no such result.',
    asks: [
      'intent is an object if kind is intent, and null otherwise',
      'result_kind is BUNDLE, CLARIFY or REFUSE; mode is plan-only or execute-sandbox; policy is the name of a profile',
      'bundle_sha256 is null if and only if result_kind is REFUSE',
      'accepted is true or false; it is false for CLARIFY and REFUSE',
    ],
    fields: ['intent', 'intent.result_kind', 'intent.accepted', 'intent.mode', 'intent.policy'],
    reads: ['kind', 'intent.bundle_sha256'],
    *check({ kind: run, intent }) {
      if (run === 'intent' && intent === null) yield must('intent', 'must not be null for an intent');
      if (run !== 'intent' && intent !== null) yield must('intent', `must be null if kind is ${run}`);
      if (intent === null) return;
      const { result_kind: kind, bundle_sha256: bundle, accepted } = intent;
      if (kind === 'REFUSE' && bundle !== null) yield must('intent.bundle_sha256', 'must be null for a REFUSE');
      if (kind !== 'REFUSE' && bundle === null) yield must('intent.bundle_sha256', `must not be null for a ${kind}`);
      if (kind !== 'BUNDLE' && accepted) yield must('intent.accepted', `must be false for a ${kind}`);
    },
    breach: line => ({ ...line, kind: 'script' }),
  }),
];
