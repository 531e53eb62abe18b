import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import type { RunArtifact } from '../../contracts/artifacts/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { repetitionId, type SuiteRequest, targetName } from '../../contracts/suite/index.ts';
import { dirtyParts, missingShards, PARTS_FILE, type SuitePart } from '../../contracts/suite-part/index.ts';
import type { Document } from '../document.ts';
import { stepDocuments } from '../step/step-documents.ts';
import type { MergedFiles } from './merged-files.ts';
import { assetsManifestOf } from './suite-documents.ts';
import type { PartFolder } from './suite-part.ts';

/** A merged run: its parts, in order, and how the run is called. */
export interface Merged {
  /** Not empty; their requests agree. */
  readonly parts: readonly [PartFolder, ...PartFolder[]];
  /** The id of the first repetition. */
  readonly of: string;
  readonly outDir: string;
  readonly runnerId: string;
  readonly mergedAtMs: number;
}

/** Builds every document of a merged run except the seal. Pure: reads and writes no files. */
export function mergedDocuments(merged: Merged, files: MergedFiles): Document[] {
  const { parts, mergedAtMs } = merged;
  const request = mergedRequest(merged, files);
  const startedAtMs = Math.min(...parts.map(part => part.startedAtMs));
  const endedAtMs = Math.max(...parts.map(part => part.endedAtMs));
  const run = runOf(merged, request, files.ids, endedAtMs - startedAtMs);
  const { cases_completed: ok = 0, cases_failed: failed = 0 } = run.stats ?? {};
  const runner = runnerOf(merged, failed, startedAtMs, endedAtMs);
  const report = canonicalize(run);
  return [
    ['run.json', report],
    ['assets/manifest.json', canonicalize(assetsManifestOf(request.version, files.assets, mergedAtMs))],
    ['evidence/request.json', canonicalize(request)],
    [PARTS_FILE, parts.map(part => `${canonicalize(lineOf(part, request.run_id))}\n`).join('')],
    ...(typeof runner === 'string' ? [] : [['evidence/runner.json', canonicalize(runner)] as const]),
    ['evidence/final-state.txt', finalState(merged, request, run)],
    ...stepDocuments({
      runId: request.run_id,
      step: 'suite',
      termination: parts.some(({ gaveUp }) => gaveUp) ? 'error' : 'completed',
      startedAtMs,
      endedAtMs,
      runner,
      artifacts: [['validation_report', 'run.json', 'application/json', report]],
      required: ['validation_report'],
      notes: [`merged from ${parts.length} parts`, `${ok} cases answered, ${failed} not`],
    }),
  ];
}

function lineOf({ line, number }: PartFolder, runId: string): SuitePart {
  return { schema_version: 'suite-part.v1', run_id: runId, number, ...line };
}

function mergedRequest({ parts, of }: Merged, { ids, cases }: MergedFiles): SuiteRequest {
  const { shard, begun_elsewhere: _, repetition, ...first } = parts[0].request;
  const { sha256, bytes } = cases;
  const elsewhere = parts.flatMap(({ request }) => request.begun_elsewhere?.cases_done ?? []);
  return {
    ...first,
    run_id: repetitionId(of, repetition.number),
    repetition: { ...repetition, of },
    cases: { sha256, bytes, count: ids.length },
    merged: {
      parts: parts.length,
      all: shard?.all ?? { sha256, bytes, count: ids.length },
      missing: missingShards(parts),
    },
    ...(elsewhere.length > 0 && { begun_elsewhere: { cases_done: elsewhere.reduce((sum, done) => sum + done, 0) } }),
  };
}

function runOf(
  { parts, outDir, mergedAtMs }: Merged,
  { run_id }: SuiteRequest,
  ids: readonly string[],
  durationMs: number,
): RunArtifact {
  const { node_version: node, dirty: _, ...first } = parts[0].run;
  const dirty = dirtyParts(parts);
  const sum = (key: 'cases_completed' | 'cases_failed') =>
    parts.reduce((total, { run }) => total + (run.stats?.[key] ?? 0), 0);
  const isSameNode = parts.every(({ run }) => run.node_version === node);
  return {
    ...first,
    ...(isSameNode && node !== undefined && { node_version: node }),
    ...(dirty !== undefined && { dirty }),
    run_id,
    generated_at: instantText(mergedAtMs),
    out_dir: outDir,
    selected_case_ids: [...ids],
    stats: {
      cases_total: ids.length,
      cases_completed: sum('cases_completed'),
      cases_failed: sum('cases_failed'),
      duration_ms: durationMs,
    },
  };
}

/** The runner record of the parts, if all ran in the same environment. */
function runnerOf(
  { parts, runnerId }: Merged,
  failed: number,
  startedAtMs: number,
  endedAtMs: number,
): Runner | string {
  const [{ runner, environmentHash }] = parts;
  if (!runner || environmentHash === undefined || parts.some(part => part.environmentHash !== environmentHash))
    return 'The parts ran in different environments. Their runner records are in evidence/parts.ndjson.';
  const warnings = [...new Set(parts.flatMap(part => part.runner?.warnings ?? []))];
  const { warnings: _, ...first } = runner;
  return {
    ...first,
    runner_id: runnerId,
    timing: {
      started_at: instantText(startedAtMs),
      completed_at: instantText(endedAtMs),
      duration_ms: endedAtMs - startedAtMs,
    },
    exit: { code: failed > 0 ? 1 : 0, oom_killed: false, timeout_killed: false },
    ...(warnings.length > 0 && { warnings }),
  };
}

function finalState({ parts }: Merged, request: SuiteRequest, { stats }: RunArtifact): string {
  const lines = [
    `run        ${request.run_id}`,
    `side       ${request.version}`,
    `target     ${printable(targetName(request.target))}`,
    `cases      ${stats?.cases_total}: ${stats?.cases_completed} answered, ${stats?.cases_failed} not`,
    `missing    ${(request.merged?.all.count ?? 0) - request.cases.count}`,
    ...parts.map(({ number, runId, sealSha256 }) => `part ${number}     ${runId} ${sealSha256}`),
  ];
  return `${lines.join('\n')}\n`;
}
