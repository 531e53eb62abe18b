import { type Contract, MIB } from '../contract.ts';
import { envelopeShape, sealDocument } from './envelope.ts';
import { sealRules } from './rules.ts';
import { sealStatement } from './statement.ts';

export {
  envelopeShape,
  innerEnvelopeShape,
  judgementEnvelopeShape,
  type OpenedStatement,
  openSeal,
  sealDocument,
  type SealEnvelope,
  sealEnvelope,
} from './envelope.ts';
export { type Checker, checkerWith, type Signed, type Signer, signedBy, signerWith } from './signature.ts';
export { type RunKind, type SealedFile, type SealStatement, sealStatement } from './statement.ts';

const example = sealDocument(
  sealStatement({
    runId: 'script_20260403_101500_4f1c9a7be210',
    kind: 'script',
    sealedAt: '2026-04-03T10:15:07.412Z',
    files: [
      {
        path: 'evidence/outcome.json',
        sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
        bytes: 1_302,
      },
      {
        path: 'evidence/runner.json',
        sha256: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4',
        bytes: 947,
      },
      {
        path: 'output/report.pdf',
        sha256: 'sha256:77aa66bb55cc44dd33ee22ff1100998877665544332211ffeeddccbbaa009988',
        bytes: 120_000,
      },
      {
        path: 'result.json',
        sha256: 'sha256:1234c0ffee5678deca0de9abcdef01234c0ffee5678deca0de9abcdef0123456',
        bytes: 214,
      },
    ],
  }),
);

export const seal: Contract = {
  name: 'seal',
  title: 'Seal',
  tells: 'The digest and size of every file in a run folder: a DSSE envelope around an in-toto statement.',
  source: 'Proctor run folder, as DSSE 1.0 and in-toto Statement v1',
  version: { field: 'schema_version', value: 'seal.v1' },
  // Old seals do not name their format.
  fileNames: ['seal.json'],
  shape: envelopeShape,
  rules: sealRules,
  unknownKeys: 'SL1',
  // Base64 text can look like a host path by chance.
  programText: ['payload'],
  // From evidence/ to the run folder. Separate rules check its files.
  claimsFrom: 1,
  beyond: ['whether the sealed files are unchanged, and who sealed them: verify the folder with --key'],
  bytesMax: 96 * MIB,
  example,
};
