import path from 'node:path';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { SuiteRequest, SuiteTarget } from '../contracts/suite/index.ts';
import { readSuiteFolder } from '../evidence/suite/suite-folder.ts';
import type { Side } from '../judge/compare-input.ts';
import { settingsFrom } from '../run/suite/settings.ts';
import type { Header, RunSuiteOptions } from './run-suite.ts';
import { addressOf } from './suite-targets.ts';

/** The targets for running cases again. Each defaults to the target of the recorded runs. */
export interface AgainTargets {
  /** The candidate's URL, if it changed. */
  readonly baseUrl?: string;
  /** The baseline's URL. */
  readonly baselineUrl?: string;
  /** The candidate's script. */
  readonly script?: string;
  /** The baseline's script. */
  readonly baselineScript?: string;
  /** The target file of the candidate. */
  readonly target?: string;
  /** The target file of the baseline. */
  readonly baselineTarget?: string;
  /** The project file that names the targets; by default the nearest `proctor.yaml`. */
  readonly project?: string;
  /** The agent's policy file. */
  readonly policy?: string;
  /** The folder to clone for an agent. */
  readonly dir?: string;
  /** The folder that paths in coding cases start from. */
  readonly casesFolder?: string;
  /** The commit, the mounts and the checks of every case. */
  readonly base?: string;
  readonly mounts?: RunSuiteOptions['mounts'];
  readonly checks?: RunSuiteOptions['checks'];
  readonly headers?: readonly Header[];
  /** Reads an environment variable, to mask the values that the runs masked. */
  readonly variable?: (name: string) => string | undefined;
  /** The environment in which to find the agent's program and model credential. */
  readonly environment?: RunSuiteOptions['environment'];
}

/** A side that can run again: its first run, and the options to run it with. */
export interface Askable {
  readonly folder: string;
  readonly request: SuiteRequest;
  readonly options: RunSuiteOptions;
}

/**
 * Whether the baseline version can still be run. A URL that both sides used serves one version, most likely the
 * candidate. Running the baseline there would clear every suspect case.
 */
export function canAskBaseline(
  baseline: Side,
  candidate: Side,
  { baseUrl, baselineUrl, baselineScript, baselineTarget }: AgainTargets,
): boolean {
  if (baseline.source !== 'runs') {
    if (baselineUrl !== undefined || baselineScript !== undefined || baselineTarget !== undefined)
      throw new Fault(
        'usage',
        'An accepted baseline cannot be run again. Compare with its run, or omit --baseline-url, --baseline-target and --baseline-script.',
      );
    return false;
  }
  const recorded = baseline.trials[0]?.address;
  if (recorded === undefined)
    return baselineUrl !== undefined || baselineScript !== undefined || baselineTarget !== undefined;
  const ofNew = candidate.trials[0]?.address;
  const isSame = ofNew !== undefined && placeOf(baselineUrl ?? recorded) === placeOf(baseUrl ?? ofNew);
  if (isSame && baselineUrl !== undefined)
    throw new Fault(
      'usage',
      '--baseline-url is the URL of the candidate, which cannot serve both versions. Specify the URL of the old version, or omit --baseline-url.',
    );
  return !isSame;
}

/** The request of the first planned run; undefined for an accepted baseline. */
export function requestOf(side: Side): SuiteRequest | undefined {
  const folder = firstFolder(side);
  return folder === undefined ? undefined : readSuiteFolder(folder).request;
}

function firstFolder({ trials }: Side): string | undefined {
  return trials.find(({ folder, isRerun }) => folder !== undefined && !isRerun)?.folder;
}

/** A URL without its query and trailing slashes, which do not make it a different target. */
function placeOf(address: string): string {
  if (!URL.canParse(address)) return address;
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** The options to run a side again, completed with what its run folder does not store. */
export function askableSide(side: Side, version: 'baseline' | 'new', given: AgainTargets): Askable {
  const folder = firstFolder(side);
  const request = requestOf(side);
  if (folder === undefined || !request) throw new Fault('no_run', `The ${sideName(version)} has no run to repeat.`);
  if (path.basename(folder) !== request.repetition.of || path.basename(path.dirname(folder)) !== request.version) {
    throw new Fault(
      'usage',
      `The run folder of the ${sideName(version)} was moved, so no round can be added next to it. Move it back.`,
    );
  }
  const headers = headersFor(request.target, version, given);
  const options: RunSuiteOptions = {
    cases: path.join(folder, 'assets/cases.ndjson'),
    ...(given.casesFolder !== undefined && { casesFolder: given.casesFolder }),
    as: request.version,
    ...settingsFrom(request.settings),
    ...targetFor(request.target, version, given),
    headers,
    secrets: secretsFor(request, headers, given),
    ...(request.keep_credentials && { keepCredentials: true }),
    ...(request.provenance && { provenance: request.provenance }),
    ...(given.environment && { environment: given.environment }),
  };
  return { folder, request, options };
}

function targetFor(target: SuiteTarget, version: 'baseline' | 'new', given: AgainTargets): Partial<RunSuiteOptions> {
  const [url, script] =
    version === 'baseline' ? [given.baselineUrl, given.baselineScript] : [given.baseUrl, given.script];
  if (target.kind === 'http') return { baseUrl: url ?? addressOf(target.url, undefined), redirects: target.redirects };
  if (target.kind === 'declared') {
    const [file, flag] =
      version === 'baseline' ? [given.baselineTarget, '--baseline-target'] : [given.target, '--target'];
    // A run folder never names what to start or where to send secrets.
    if (file === undefined)
      throw new Fault('usage', `The runs used the target ${printable(target.name)}. Specify its file: ${flag} FILE.`);
    const { sandbox, isolation } = target;
    const bounds = sandbox && isolation && { sandbox, isolation };
    return {
      target: file,
      ...(given.project !== undefined && { project: given.project }),
      strictReplies: target.replies === 'strict',
      ...(bounds && { bounds }),
    };
  }
  if (target.kind === 'script') {
    const flag = version === 'baseline' ? '--baseline-script' : '--script';
    if (script === undefined)
      throw new Fault('usage', `The runs used the script ${printable(target.name)}. Specify its file: ${flag} FILE.`);
    const { sandbox, isolation } = target;
    return { script, bounds: { ...(sandbox !== 'vm' && sandbox !== 'container' && { sandbox }), isolation } };
  }
  const { name, policy, model, max_turns, max_requests, max_tokens, max_cost_usd, model_mode } = target;
  if (model_mode === 'replay')
    throw new Fault(
      'usage',
      'These runs replayed a recording, which gives the same answers again. Run without --again.',
    );
  const limits = {
    model,
    maxTurns: max_turns,
    maxRequests: max_requests,
    maxTokens: max_tokens,
    maxCostUsd: max_cost_usd,
  };
  return {
    agent: name,
    policy: given.policy ?? policy,
    ...defined({ dir: given.dir, base: target.base ?? given.base, mounts: given.mounts, checks: given.checks }),
    ...defined(limits),
    ...(target.allow_untested_version && { allowUntestedVersion: true }),
  };
}

function headersFor(target: SuiteTarget, version: 'baseline' | 'new', { headers = [] }: AgainTargets): Header[] {
  if (target.kind !== 'http') return [];
  return target.header_names.map(name => {
    const header = headers.find(one => one.name === name);
    if (header) return header;
    throw new Fault(
      'usage',
      `The runs of the ${sideName(version)} sent the header ${printable(name)}. Add --header '${printable(name)}: env:VARIABLE'.`,
    );
  });
}

/** The secrets of the runs. Without them, an answer could contain a secret unmasked. */
function secretsFor(
  { secret_names }: SuiteRequest,
  headers: readonly Header[],
  { variable }: AgainTargets,
): Record<string, string> {
  const ofHeaders = new Set(headers.map(({ env }) => env));
  return Object.fromEntries(
    secret_names
      .filter(name => !ofHeaders.has(name))
      .map(name => {
        const value = variable?.(name);
        if (value === undefined)
          throw new Fault(
            'usage',
            `The runs masked the environment variable ${printable(name)}, which is not set. Set it.`,
          );
        return [name, value];
      }),
  );
}

function sideName(version: 'baseline' | 'new'): string {
  return version === 'new' ? 'candidate' : version;
}
