import { type Contract, MIB } from '../contract.ts';
import { judgementEnvelopeShape, sealDocument } from '../seal/index.ts';
import { judgementSealRules } from './rules.ts';
import { judgementStatement } from './statement.ts';

export {
  baselineContradictions,
  comparisonContradictions,
  type SealContradiction,
  evaluationContradictions,
} from './contradictions.ts';
export { type OpenedJudgement, openJudgement, unknownKeys } from './open.ts';
export {
  type Foundation,
  type JudgementKind,
  type JudgementStatement,
  judgementStatement,
  type SealedJudgement,
} from './statement.ts';

export const judgementSeal: Contract = {
  name: 'judgement-seal',
  title: 'Seal of a judgement',
  tells:
    'The files of an evaluation, comparison or baseline, and the seals of the runs, evaluations and baseline behind it.',
  source: 'Proctor run folder, as DSSE 1.0 and in-toto Statement v1',
  version: { field: 'schema_version', value: 'judgement-seal.v1' },
  fileNames: ['evaluation.seal.json', 'comparison.seal.json'],
  shape: judgementEnvelopeShape,
  rules: judgementSealRules,
  unknownKeys: 'JS1',
  // Base64 text can look like a host path by chance.
  programText: ['payload'],
  beyond: ['whether the sealed files are unchanged, and who sealed them: verify the folder with --key'],
  bytesMax: 8 * MIB,
  example: sealDocument(
    judgementStatement({
      kind: 'comparison',
      id: 'comparison_20260106_130000_9c1b7ae04f21',
      judgeVersion: '0.1.0',
      sealedAt: '2026-01-06T13:00:00.000Z',
      files: [
        {
          path: 'comparison.json',
          sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
          bytes: 4_120,
        },
        {
          path: 'report.html',
          sha256: 'sha256:0c9b8a7f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4c3b2a190817f6e5d4',
          bytes: 310_224,
        },
      ],
      restsOn: [
        {
          what: 'baseline',
          side: 'baseline',
          id: null,
          seal_sha256: 'sha256:77aa66bb55cc44dd33ee22ff1100998877665544332211ffeeddccbbaa009988',
        },
        {
          what: 'run',
          side: 'new',
          id: 'suite_20260106_120000_4f1c9a7be210',
          seal_sha256: 'sha256:3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b',
        },
        {
          what: 'evaluation',
          side: 'new',
          id: 'suite_20260106_120000_4f1c9a7be210',
          seal_sha256: 'sha256:1234c0ffee5678deca0de9abcdef01234c0ffee5678deca0de9abcdef0123456',
        },
      ],
    }),
  ),
};
