import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { homeFrom } from '../evidence/run-folder/runs.ts';
import { type ComparedVersions, compareVersions } from './compare-versions.ts';
import type { GateSettings } from './gate-settings.ts';
import { orderOf } from './lay-out-suite.ts';
import { runSuite, type RunSuiteOptions, type SuiteRunResult } from './run-suite.ts';
import { type SuiteVersion, versionName } from './suite-versions.ts';

/** A suite for several versions: combinations of an agent and a model. */
export interface RunVersionsOptions extends Omit<RunSuiteOptions, 'as' | 'agent' | 'model' | 'runId'> {
  /** Two to eight versions. The first is the reference of the matrix. */
  readonly versions: readonly SuiteVersion[];
  /** The mode of the gate that judges the pairs. */
  readonly mode?: NonNullable<GateSettings['mode']>;
  /** Called before a version starts. */
  readonly onVersion?: (name: string) => void;
  /** Called when a version has run. */
  readonly onVersionRun?: (version: VersionRun) => void;
}

interface VersionRun {
  readonly name: string;
  readonly result: SuiteRunResult;
}

export interface VersionsResult {
  /** The versions that ran, in their order. The last one can be open after an interrupt. */
  readonly runs: readonly VersionRun[];
  /** The names of versions that did not start because of an interrupt. */
  readonly notStarted: readonly string[];
  /** The matrix; null after an interrupt. */
  readonly compared: ComparedVersions | null;
}

/**
 * Runs a suite once for every version, as candidates, and judges every pair of versions. Checks all versions before the
 * first one starts. After an interrupt, finished runs stay, and the open one can be resumed.
 */
export async function runVersions(options: RunVersionsOptions): Promise<VersionsResult> {
  const { versions, mode, onVersion, onVersionRun, ...asked } = options;
  const { cwd = process.cwd(), signal } = asked;
  if (versions.length < 2) throw new Fault('usage', 'runVersions requires at least two versions.');
  if (asked.recordings !== undefined) refuseSharedFolder(versions);
  const orders = versions.map(version => orderFor(asked, version));
  // Find a missing agent now, rather than after the others have run.
  for (const order of orders) await orderOf(order, homeFrom(cwd), cwd);
  const runs: VersionRun[] = [];
  for (const [index, order] of orders.entries()) {
    const name = versionName(versions[index] as SuiteVersion);
    onVersion?.(name);
    const result = await runSuite(order);
    runs.push({ name, result });
    onVersionRun?.({ name, result });
    if (signal?.aborted || result.runs.some(({ isOpen }) => isOpen))
      return { runs, notStarted: versions.slice(index + 1).map(versionName), compared: null };
  }
  const { gate, limits, signingKey } = asked;
  const compared = await compareVersions({
    versions: runs.map(({ name, result }) => ({ run: result.runs[0]?.place.folder as string, name })),
    formats: ['html', 'md', 'json'],
    ...(gate !== undefined && { gate }),
    ...(mode && { mode }),
    ...(limits && { limits }),
    ...(signingKey !== undefined && { signingKey }),
    ...(signal && { signal }),
    cwd,
  });
  return { runs, notStarted: [], compared };
}

function orderFor(asked: Omit<RunVersionsOptions, 'versions'>, version: SuiteVersion): RunSuiteOptions {
  const { recordings } = asked;
  return {
    ...asked,
    ...version,
    as: 'new',
    // Versions answer the same cases, so they cannot share recordings.
    ...(recordings !== undefined && { recordings: path.join(recordings, folderName(version)) }),
  };
}

function refuseSharedFolder(versions: readonly SuiteVersion[]): void {
  const seen = new Map<string, string>();
  for (const version of versions) {
    const [folder, name] = [folderName(version).toLowerCase(), versionName(version)];
    const other = seen.get(folder);
    if (other !== undefined)
      throw new Fault(
        'usage',
        `"${printable(other)}" and "${printable(name)}" would share one folder of recordings. Run them one by one, each with its own --recordings.`,
      );
    seen.set(folder, name);
  }
}

function folderName(version: SuiteVersion): string {
  return versionName(version).replace(/[^A-Za-z0-9.-]+/g, '-');
}
