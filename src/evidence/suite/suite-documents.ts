import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { VERSION } from '../../base/version.ts';
import { RUN_PROVENANCE, type RunProvenance } from '../../contracts/provenance.ts';
import { type SuiteRequest, targetName } from '../../contracts/suite/index.ts';
import type { RunArtifact } from '../../contracts/artifacts/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { MADE_TWICE, type TwiceCase } from '../../contracts/made-twice/index.ts';
import type { Document } from '../document.ts';
import { madeTwiceOf } from './made-twice.ts';
import { stepDocuments } from '../step/step-documents.ts';
import type { AssetNote, SuitePlan, SuiteStats } from './suite-run.ts';

/** Everything known about a finished suite run, except its cases. */
export interface SuiteRun {
  readonly plan: SuitePlan;
  readonly ids: readonly string[];
  readonly assets: readonly AssetNote[];
  readonly stats: SuiteStats;
  /** The attempts that were chosen to be made twice, by case. */
  readonly twice: ReadonlyMap<string, TwiceCase>;
  /** Proctor gave up on the target before it sent every case. */
  readonly gaveUp: boolean;
  readonly startedAtMs: number;
  readonly completedAtMs: number;
}

/** Builds every document of a suite run except the seal. Pure: reads and writes no files. */
export function suiteDocuments(run: SuiteRun): Document[] {
  const { plan, startedAtMs, completedAtMs } = run;
  const runner = runnerOf(run);
  const report = canonicalize(runJsonOf(run));
  const twice = madeTwiceOf(plan.request, run.ids, run.twice);
  return [
    ['run.json', report],
    ['assets/manifest.json', canonicalize(assetsManifestOf(plan.request.version, run.assets, completedAtMs))],
    ['evidence/request.json', canonicalize(plan.request)],
    ['evidence/runner.json', canonicalize(runner)],
    ...(twice ? [[MADE_TWICE, canonicalize(twice)] as const] : []),
    ['evidence/final-state.txt', finalState(run)],
    ...stepDocuments({
      runId: plan.request.run_id,
      step: 'suite',
      termination: run.gaveUp ? 'error' : 'completed',
      startedAtMs,
      endedAtMs: completedAtMs,
      runner,
      artifacts: [['validation_report', 'run.json', 'application/json', report]],
      required: ['validation_report'],
      notes: [`${run.stats.ok} cases answered, ${run.stats.failed} not`],
    }),
  ];
}

/** Failures that Proctor retries, by their names in run.json. */
const RETRIED = ['timeout', 'network_error', 'http_408', 'http_425', 'http_429', 'http_5xx'];

function runJsonOf({ plan, ids, stats, startedAtMs, completedAtMs }: SuiteRun): RunArtifact {
  const { request, repository } = plan;
  const { settings, target } = request;
  return {
    schema_version: 'run.v1',
    run_id: request.run_id,
    version: request.version,
    generated_at: instantText(completedAtMs),
    base_url: targetName(target),
    cases_path: plan.casesPath,
    out_dir: plan.outDir,
    selected_case_ids: [...ids],
    runner_version: VERSION,
    ...(repository && { repo_commit: repository.commit, dirty: repository.dirty }),
    node_version: process.version,
    ...provenanceIn(request),
    timeout_ms: settings.timeout_ms,
    retries: settings.retries,
    concurrency: settings.concurrency,
    retry_policy: { classes: RETRIED, backoff: 'exponential', jitter: true },
    limits: {
      max_body_bytes: settings.max_body_bytes,
      max_inline_snippet_bytes: settings.max_inline_snippet_bytes,
      max_payload_inline_bytes: settings.max_payload_inline_bytes,
    },
    stats: {
      cases_total: stats.total,
      cases_completed: stats.ok,
      cases_failed: stats.failed,
      duration_ms: completedAtMs - startedAtMs,
    },
  };
}

/**
 * What is known about the agent. The user states it, but if Proctor runs the agent, the name, version and model that
 * Proctor knows take precedence.
 */
function provenanceIn({ provenance: stated = {}, target }: SuiteRequest): Pick<RunArtifact, 'provenance'> {
  const seen =
    target.kind === 'agent'
      ? {
          agent_id: target.name,
          agent_version: target.version,
          ...(target.model !== undefined && { model: target.model }),
        }
      : {};
  const all: RunProvenance = { ...stated, ...seen };
  const known = RUN_PROVENANCE.flatMap(name => (all[name] === undefined ? [] : [[name, all[name]] as const]));
  return known.length === 0 ? {} : { provenance: Object.fromEntries(known) };
}

export function assetsManifestOf(
  version: SuiteRequest['version'],
  assets: readonly AssetNote[],
  generatedAtMs: number,
): object {
  return {
    schema_version: 'assets-manifest.v1',
    generated_at: instantText(generatedAtMs),
    items: assets.map(({ href, kind, caseId, bytes, sha256 }) => ({
      asset_id: href.slice('assets/'.length),
      href,
      kind,
      case_id: caseId,
      side: caseId === null ? null : version,
      size_bytes: bytes,
      sha256,
    })),
  };
}

function runnerOf({ plan, stats, startedAtMs, completedAtMs }: SuiteRun): Runner {
  return {
    ...plan.runner,
    timing: {
      started_at: instantText(startedAtMs),
      completed_at: instantText(completedAtMs),
      duration_ms: completedAtMs - startedAtMs,
    },
    exit: { code: stats.failed > 0 ? 1 : 0, oom_killed: false, timeout_killed: false },
  };
}

function finalState({ plan, stats, gaveUp, startedAtMs, completedAtMs }: SuiteRun): string {
  const { request } = plan;
  const { target } = request;
  const lines = [
    `run        ${request.run_id}`,
    `side       ${request.version}`,
    `target     ${printable(targetName(target))}`,
    `cases      ${stats.total}: ${stats.ok} answered, ${stats.failed} not${gaveUp ? ', gave up on the target' : ''}`,
    `took       ${completedAtMs - startedAtMs} ms`,
  ];
  return `${lines.join('\n')}\n`;
}
