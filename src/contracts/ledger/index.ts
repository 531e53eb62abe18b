import type { Contract } from '../contract.ts';
import { ledgerRules } from './rules.ts';
import { type LedgerLine, ledgerLineShape } from './shape.ts';

export { ledgerName } from './name.ts';
export { type LedgerIntent, type LedgerLine } from './shape.ts';

const example: LedgerLine = {
  schema_version: 'ledger-line.v1',
  sequence: 7,
  previous_sha256: 'sha256:3f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8',
  run_id: 'intent_20260403_101500_4f1c9a7be210',
  kind: 'intent',
  sealed_at: '2026-04-03T10:15:07.412Z',
  seal_sha256: 'sha256:77aa66bb55cc44dd33ee22ff1100998877665544332211ffeeddccbbaa009988',
  intent: {
    intent_sha256: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4',
    bundle_sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
    result_kind: 'BUNDLE',
    accepted: true,
    mode: 'execute-sandbox',
    policy: 'strict',
  },
};

export const ledgerLine: Contract = {
  name: 'ledger-line',
  title: 'Ledger Line',
  tells: 'The record of a sealed run, with the hash of its seal and of the previous line; a line of ledger.ndjson.',
  schemaTells:
    'That a run was sealed, with the digest of its seal and of the line before: one line of ledger.ndjson. (Ledger Specification, and the ledger of a home of Proctor)',
  source: 'Ledger Specification, and the ledger in a Proctor home',
  version: { field: 'schema_version', value: 'ledger-line.v1' },
  shape: ledgerLineShape,
  rules: ledgerRules,
  unknownKeys: 'LD1',
  canonicalBytes: 'LD1',
  unique: { field: 'run_id', within: 'version', rule: 'LD3' },
  beyond: ['whether lines were removed from the end of a ledger, except those of runs in the same home'],
  // Several times the length of the longest valid line.
  bytesMax: 4_096,
  example,
};
