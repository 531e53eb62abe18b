import { Fault } from '../../base/fault.ts';
import { VERSION } from '../../base/version.ts';
import { type Baseline, baselineSealHash, sealedBaseline } from '../../contracts/baseline/index.ts';
import type { Trial } from '../../contracts/comparison/index.ts';
import type { Signer } from '../../contracts/seal/index.ts';
import { agreed, conditionsOf } from './comparability.ts';
import type { JudgedCase, KeptDocuments, Side } from '../compare-input.ts';
import { foundationsOf } from './foundations.ts';
import { pairedTrial } from './pairing.ts';

/** A side without reruns. Reruns cover selected cases, so their failure rate is not the suite's. */
export function plannedOnly(side: Side): Side {
  return { ...side, trials: side.trials.filter(({ isRerun }) => !isRerun) };
}

/** Makes a small sealed document from a side. Accepts only planned trials, and only sealed runs. */
export function acceptedFrom(
  whole: Side,
  acceptedAt: string,
  signer?: Signer,
  pack?: NonNullable<Baseline['pack']>,
): Baseline {
  const side = plannedOnly(whole);
  const { trials } = side;
  const seals = trials.flatMap(({ sealSha256 }) => sealSha256 ?? []);
  if (trials.length === 0) throw new Fault('nothing_to_accept', 'There is no run to accept.');
  if (seals.length < trials.length) throw new Fault('not_sealed', 'A run without a seal cannot be accepted.');
  const conditions = conditionsOf(side);
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
    ...(pack && { pack }),
  } as const;
  return sealedBaseline(bare, foundationsOf(side), VERSION, signer);
}

function acceptedCases({ trials }: Side): Baseline['cases'] {
  const judged = trials.map(({ evaluation }) => new Map(evaluation.cases.map(one => [one.case_id, one])));
  // A map, because a case id can be `constructor`.
  const cases = new Map<string, Baseline['cases'][string]>();
  for (const run of judged) {
    for (const [id, { case_sha256 }] of run) {
      if (!cases.has(id)) cases.set(id, { case_sha256, trials: judged.map(others => pairedTrial(others.get(id))) });
    }
  }
  return Object.fromEntries(cases);
}

/** Restores the side from an accepted document. Artifacts are hashes only, unless the pack holds them. */
export function sideFromAccepted(baseline: Baseline, keptOf?: (trial: number) => KeptDocuments): Side {
  const { run_ids, seals, environment_hash, target_sha256, cases_sha256, conditions, cases } = baseline;
  return {
    source: 'accepted',
    baselineSeal: baselineSealHash(baseline),
    ...(baseline.pack && { pack: keptOf ? ('read' as const) : ('missing' as const) }),
    trials: run_ids.map((runId, index) => ({
      runId,
      folder: undefined,
      kept: keptOf?.(index),
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
  const { verdict, error_class, output_hash, answer_hash, latency_ms, ttft_ms, cost_usd, score } = trial;
  const { failure, repairs, tokens = null, input_tokens, output_tokens } = trial;
  return {
    case_id,
    case_sha256,
    verdict,
    error_class,
    ...(failure && { failure }),
    assertions: [],
    metrics: {
      latency_ms,
      ...(ttft_ms !== undefined && { ttft_ms }),
      cost_usd,
      score,
      attempts: 0,
      tokens,
      ...(input_tokens !== undefined && { input_tokens }),
      ...(output_tokens !== undefined && { output_tokens }),
      steps: 0,
    },
    output_hash,
    ...(answer_hash && { answer_hash }),
    ...(repairs && { repairs }),
  };
}
