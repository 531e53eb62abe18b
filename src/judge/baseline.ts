import { Fault } from '../base/fault.ts';
import { VERSION } from '../base/version.ts';
import { type Baseline, baselineSealHash, sealedBaseline } from '../contracts/baseline/index.ts';
import type { Trial } from '../contracts/comparison/index.ts';
import type { Signer } from '../contracts/seal/index.ts';
import { agreed } from './comparability.ts';
import type { JudgedCase, Side } from './compare-input.ts';
import { foundationsOf } from './foundations.ts';
import { trialOf } from './pairing.ts';

/** What is worth keeping of a side, as one small sealed document. A side that was not sealed is not accepted. */
export function acceptedFrom(side: Side, acceptedAt: string, signer?: Signer): Baseline {
  const { trials } = side;
  const seals = trials.flatMap(({ sealSha256 }) => sealSha256 ?? []);
  if (trials.length === 0) throw new Fault('nothing_to_accept', 'There is no run to accept.');
  if (seals.length < trials.length) throw new Fault('not_sealed', 'A run without a seal cannot be accepted.');
  const conditions = trials[0]?.conditions;
  const bare = {
    schema_version: 'baseline.v1',
    accepted_at: acceptedAt,
    run_ids: trials.map(({ runId }) => runId),
    seals,
    environment_hash: agreed(side, ({ environmentHash }) => environmentHash),
    target_sha256: agreed(side, ({ targetSha256 }) => targetSha256),
    cases_sha256: agreed(side, ({ casesSha256 }) => casesSha256),
    ...(conditions && { conditions: { ...conditions } }),
    cases: acceptedCases(side),
  } as const;
  return sealedBaseline(bare, foundationsOf(side), VERSION, signer);
}

function acceptedCases({ trials }: Side): Baseline['cases'] {
  const judged = trials.map(({ evaluation }) => new Map(evaluation.cases.map(one => [one.case_id, one])));
  // A map, because a case may be called `constructor`.
  const cases = new Map<string, Baseline['cases'][string]>();
  for (const run of judged) {
    for (const [id, { case_sha256 }] of run) {
      if (!cases.has(id)) cases.set(id, { case_sha256, trials: judged.map(others => trialOf(others.get(id))) });
    }
  }
  return Object.fromEntries(cases);
}

/** The side that a document was accepted from, without artifacts: of those only hashes are left. */
export function sideFromAccepted(baseline: Baseline): Side {
  const { run_ids, seals, environment_hash, target_sha256, cases_sha256, conditions, cases } = baseline;
  return {
    source: 'accepted',
    baselineSeal: baselineSealHash(baseline),
    trials: run_ids.map((runId, index) => ({
      runId,
      folder: undefined,
      sealSha256: seals[index],
      evaluation: {
        cases: Object.entries(cases).flatMap(([id, { case_sha256, trials }]) => {
          const trial = trials[index];
          return trial ? [judgedFrom(id, case_sha256, trial)] : [];
        }),
      },
      environmentHash: environment_hash ?? undefined,
      targetSha256: target_sha256 ?? undefined,
      casesSha256: cases_sha256 ?? undefined,
      conditions,
    })),
  };
}

function judgedFrom(case_id: string, case_sha256: string, trial: Trial): JudgedCase {
  const { verdict, error_class, output_hash, answer_hash, latency_ms, cost_usd, score } = trial;
  return {
    case_id,
    case_sha256,
    verdict,
    error_class,
    assertions: [],
    metrics: { latency_ms, cost_usd, score, attempts: 0, tokens: null, steps: 0 },
    output_hash,
    ...(answer_hash && { answer_hash }),
  };
}
