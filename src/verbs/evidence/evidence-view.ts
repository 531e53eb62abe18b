import * as z from 'zod/mini';
import { count, record } from '../../contracts/shape.ts';

const finding = record({
  rule_id: z.string(),
  message: z.string(),
  /** The place in the document; null for the whole document. */
  path: z.nullable(z.string()),
});

const outcome = z.enum(['valid', 'invalid', 'refused', 'unreadable']);

/** A file that is not valid; an empty name means the whole. */
const brokenPart = record({
  file: z.string(),
  outcome,
  contract: z.nullable(z.string()),
  /** Why it was not judged; null if it was. */
  reason: z.nullable(record({ code: z.string(), message: z.string() })),
  violations: z.array(finding),
});

/** What the verifier says, with a limit on every list. */
const verifiedShape = record({
  outcome,
  /** The number of documents by outcome and by format. */
  outcomes: z.record(z.string(), count()),
  contracts: z.record(z.string(), count()),
  broken: z.array(brokenPart),
  violations_total: count(),
  advice: z.array(record({ file: z.string(), ...finding.shape })),
  advice_total: count(),
  not_checked: z.array(z.string()),
  not_checked_total: count(),
  notes: z.array(z.string()),
});

const topShape = record({ tone: z.enum(['good', 'bad', 'unsure']), word: z.string(), sentence: z.string() });

const sealFacts = record({
  /** The digest of the seal file. It identifies the evidence. */
  sha256: z.string(),
  run_id: z.string(),
  kind: z.string(),
  sealed_at: z.string(),
  files: count(),
  bytes: count(),
});

const signatureFacts = record({
  /** `valid`: the key of this project signed the seal. `unknown_key`: this project does not have the key. */
  state: z.enum(['unsigned', 'valid', 'wrong', 'unknown_key']),
  /** The keys that the signatures name. Anyone can claim a key id. */
  key_ids: z.array(z.string()),
  /** The key of this project; null if it has none. */
  project_key_id: z.nullable(z.string()),
});

const expiredFacts = record({
  at: z.string(),
  /** The first hundred of them. */
  files: z.array(record({ path: z.string(), bytes: count() })),
  total: count(),
});

/** The verdict on an uploaded pack or document. */
export const verdictViewShape = record({
  top: topShape,
  what: z.enum(['pack', 'document']),
  bytes: count(),
  verified: verifiedShape,
  seal: z.nullable(sealFacts),
  signature: z.nullable(signatureFacts),
  expired: z.nullable(expiredFacts),
  /** The files in the pack; the first hundred of them. */
  files: z.array(record({ path: z.string(), bytes: count() })),
  files_total: count(),
});

const ledgerFacts = record({
  /** `differs`: the line names another seal than the one in the folder. */
  state: z.enum(['recorded', 'differs', 'missing', 'no_ledger']),
  sequence: z.nullable(count()),
  lines: z.nullable(count()),
  /** Whether every line of the ledger continues the one before; null without a ledger. */
  chain_holds: z.nullable(z.boolean()),
  troubles: z.array(record({ line: z.string(), rule_id: z.string(), message: z.string() })),
});

/** The evidence of a run. Everything is null that an unfinished run does not have yet. */
export const evidenceViewShape = record({
  run_id: z.string(),
  is_open: z.boolean(),
  top: topShape,
  verified: z.nullable(verifiedShape),
  seal: z.nullable(sealFacts),
  signature: z.nullable(signatureFacts),
  ledger: z.nullable(ledgerFacts),
  expired: z.nullable(expiredFacts),
  /** Shell commands that check the run without Proctor; null if they do not apply. */
  by_hand: z.nullable(z.string()),
});

export type Verified = z.infer<typeof verifiedShape>;
export type EvidenceTop = z.infer<typeof topShape>;
export type SealFacts = z.infer<typeof sealFacts>;
export type SignatureFacts = z.infer<typeof signatureFacts>;
export type ExpiredFacts = z.infer<typeof expiredFacts>;
export type LedgerFacts = z.infer<typeof ledgerFacts>;
export type EvidenceView = z.infer<typeof evidenceViewShape>;
export type VerdictView = z.infer<typeof verdictViewShape>;
