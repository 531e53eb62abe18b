import type { Foundation } from '../../contracts/judgement-seal/index.ts';
import type { Side } from '../compare-input.ts';

/** The seals behind a judgement over these trials: each run's, then its evaluation's. */
export function foundationsOf({ trials, baselineSeal }: Side, side?: 'baseline' | 'new'): Foundation[] {
  const where = side && { side };
  if (baselineSeal !== undefined) return [{ what: 'baseline', ...where, id: null, seal_sha256: baselineSeal }];
  return trials.flatMap(({ runId: id, sealSha256, evaluationSeal }): Foundation[] => [
    ...(sealSha256 === undefined ? [] : [{ what: 'run', ...where, id, seal_sha256: sealSha256 } as const]),
    ...(evaluationSeal === undefined
      ? []
      : [{ what: 'evaluation', ...where, id, seal_sha256: evaluationSeal } as const]),
  ]);
}
