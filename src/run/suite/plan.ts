import { contentHash } from '../../base/hash.ts';
import type { AskedLimits } from '../../contracts/gate/limits/index.ts';
import type { TwiceChoice } from '../../contracts/made-twice/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { repetitionId, type Shard, type SuiteRequest, type SuiteTarget } from '../../contracts/suite/index.ts';
import type { SuitePlan } from '../../evidence/suite/suite-run.ts';
import type { Effective, Requested } from '../../policy/effective-limits.ts';
import { statedLimits } from '../pipeline/enforcement.ts';
import { LOCALE, ownerHere, runnerHere } from '../pipeline/runner-plan.ts';
import type { WrittenCases } from './case-list.ts';
import { settingsNote, type SuiteSettings } from './settings.ts';

/** What all repetitions of a suite share. */
export interface SuiteOrder {
  readonly group: string;
  readonly repetitions: number;
  readonly version: SuiteRequest['version'];
  readonly target: SuiteTarget;
  readonly only: readonly string[] | null;
  readonly shard?: Shard;
  /** The name of the suite in the project file. */
  readonly suite?: string;
  /** Why these cases are repeated. */
  readonly rerun?: NonNullable<SuiteRequest['rerun']>;
  readonly settings: SuiteSettings;
  readonly secretNames: readonly string[];
  readonly keepCredentials?: boolean;
  /** Workers make the attempts. */
  readonly isQueued?: boolean;
  /** Selects the attempts of a run that a second worker makes again. */
  readonly twice?: (runId: string, cases: number) => TwiceChoice;
  readonly provenance?: NonNullable<SuiteRequest['provenance']>;
  readonly gate?: AskedLimits | undefined;
  readonly casesPath: string;
  readonly outDir: string;
  readonly repository: SuitePlan['repository'];
  readonly headers: SuitePlan['headers'];
  readonly script: string | null;
  readonly agent?: NonNullable<SuitePlan['agent']>;
  readonly declared?: NonNullable<SuitePlan['declared']>;
  readonly bounds: Requested;
  /** The limits of every attempt, if the target is a script or an agent. */
  readonly effective: Effective | undefined;
}

/** Builds the plan of a repetition, which is stored before the first case is sent. */
export function suitePlan(order: SuiteOrder, number: number, cases: WrittenCases, all = cases): SuitePlan {
  const { group, repetitions, version, target, only, shard, settings, secretNames } = order;
  const runId = repetitionId(group, number);
  return {
    request: {
      schema_version: 'suite-request.v1',
      run_id: runId,
      kind: 'suite',
      version,
      repetition: { of: group, number, total: repetitions },
      target,
      target_sha256: contentHash(target),
      cases,
      only: only && [...only],
      ...(shard && { shard: { index: shard.index, total: shard.total, all } }),
      ...(order.suite !== undefined && { suite: order.suite }),
      settings: settingsNote(settings),
      secret_names: [...secretNames].sort(),
      ...(order.provenance && { provenance: order.provenance }),
      ...(order.rerun && { rerun: order.rerun }),
      ...(order.keepCredentials && { keep_credentials: true as const }),
      ...(order.isQueued && { queued: true as const }),
      ...(order.twice && { twice: order.twice(runId, cases.count) }),
      ...(order.gate && { gate: order.gate }),
    },
    runner: runnerOf(order),
    casesPath: order.casesPath,
    outDir: order.outDir,
    repository: order.repository,
    headers: order.headers,
    script: order.script,
    ...(order.agent && { agent: order.agent }),
    ...(order.declared && { declared: order.declared }),
    bounds: order.bounds,
    owner: ownerHere(),
  };
}

/** For an HTTP target, Proctor limits only the wait and the stored bytes. A sandbox limits a program. */
function runnerOf({ effective, settings }: SuiteOrder): Omit<Runner, 'timing' | 'exit'> {
  const { identity, warnings } = runnerHere(effective?.warnings ?? []);
  return {
    ...identity,
    sandbox: {
      backend: effective?.sandbox ?? 'none',
      isolation_level: effective?.isolation ?? 'none',
      network_blocked: effective?.network === 'blocked',
      filesystem_readonly: effective !== undefined && effective.sandbox !== 'none',
    },
    limits: effective
      ? statedLimits(effective)
      : { timeout_ms: settings.timeoutMs, max_output_files: 1, max_total_output_bytes: settings.bodyBytesMax },
    commands: { allowlist: [], blocklist: [], shell: 'none' },
    write_roots: [],
    context: { working_dir: '.', env_allowlist: [], locale: LOCALE, timezone: 'UTC' },
    ...(warnings.length > 0 && { warnings }),
  };
}
