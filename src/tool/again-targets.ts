import path from 'node:path';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { SuiteRequest, SuiteTarget } from '../contracts/suite/index.ts';
import { readSuite } from '../evidence/suite-folder.ts';
import type { Side } from '../judge/compare-input.ts';
import { settingsFrom } from '../run/suite/settings.ts';
import type { Header, RunSuiteOptions } from './run-suite.ts';
import { addressOf } from './suite-targets.ts';

/** Where the two sides are asked again. What is not said is what their runs asked. */
export interface AgainTargets {
  /** Another address of the new side. */
  readonly baseUrl?: string;
  /** Where the version of the baseline answers now. */
  readonly baselineUrl?: string;
  /** The script that the runs of the new side asked. */
  readonly script?: string;
  /** The script that the runs of the baseline asked. */
  readonly baselineScript?: string;
  /** The policy of an agent's program, where it is a file. */
  readonly policy?: string;
  /** The folder that an agent's program works on clones of. */
  readonly dir?: string;
  readonly headers?: readonly Header[];
  /** The value of a variable of the environment: what the runs masked is masked again. */
  readonly variable?: (name: string) => string | undefined;
  /** Where an agent's program and the key of its model are looked up. */
  readonly environment?: RunSuiteOptions['environment'];
}

/** A side that can be asked: its first run, and what to ask it with. */
export interface Askable {
  readonly folder: string;
  readonly request: SuiteRequest;
  readonly options: RunSuiteOptions;
}

/**
 * Whether the version of the baseline can still be asked. An address that both sides used answers with one version only,
 * the new one most likely; asking it for the baseline would acquit every case.
 */
export function canAskBaseline(
  baseline: Side,
  candidate: Side,
  { baseUrl, baselineUrl, baselineScript }: AgainTargets,
): boolean {
  if (baseline.source !== 'runs') {
    if (baselineUrl !== undefined || baselineScript !== undefined)
      throw new Fault(
        'usage',
        'An accepted baseline cannot be asked again. Compare with its run, or leave its target out.',
      );
    return false;
  }
  const recorded = baseline.trials[0]?.address;
  if (recorded === undefined) return baselineUrl !== undefined || baselineScript !== undefined;
  const ofNew = candidate.trials[0]?.address;
  const isSame = ofNew !== undefined && placeOf(baselineUrl ?? recorded) === placeOf(baseUrl ?? ofNew);
  if (isSame && baselineUrl !== undefined)
    throw new Fault(
      'usage',
      'The new side is asked at the address of --baseline-url, which cannot answer for both versions. Name the address of the old version, or leave --baseline-url out.',
    );
  return !isSame;
}

/** Where an address leads: headers, queries and a slash at its end do not make it another one. */
function placeOf(address: string): string {
  if (!URL.canParse(address)) return address;
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** How the runs of a side are asked again, with everything that their folder does not hold. */
export function askableSide(side: Side, version: 'baseline' | 'new', given: AgainTargets): Askable {
  const [folder] = side.trials.flatMap(({ folder: at, isRerun }) => (at !== undefined && !isRerun ? [at] : []));
  const request = folder === undefined ? undefined : readSuite(folder).request;
  if (folder === undefined || !request)
    throw new Fault('no_run', `There is no run of the ${version} side that could be asked again.`);
  if (path.basename(folder) !== request.repetition.of || path.basename(path.dirname(folder)) !== request.version) {
    throw new Fault(
      'usage',
      `The run of the ${version} side lies elsewhere than where it was made, so no round can be put beside it.`,
    );
  }
  const headers = headersFor(request.target, version, given);
  const options: RunSuiteOptions = {
    cases: path.join(folder, 'assets/cases.ndjson'),
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
  if (target.kind === 'script') {
    const flag = version === 'baseline' ? '--baseline-script' : '--script';
    if (script === undefined)
      throw new Fault('usage', `The runs asked the script ${printable(target.name)}: say where it is (${flag} FILE).`);
    const { sandbox, isolation } = target;
    return { script, bounds: { ...(sandbox !== 'vm' && sandbox !== 'container' && { sandbox }), isolation } };
  }
  const { name, policy, model, max_turns, max_requests, max_tokens, max_cost_usd, model_mode } = target;
  if (model_mode === 'replay')
    throw new Fault('usage', 'The model of these runs was a recording, which gives the same answer again.');
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
    ...(given.dir !== undefined && { dir: given.dir }),
    ...defined(limits),
    ...(target.allow_untested_version && { allowUntestedVersion: true }),
  };
}

function headersFor(target: SuiteTarget, version: string, { headers = [] }: AgainTargets): Header[] {
  if (target.kind !== 'http') return [];
  return target.header_names.map(name => {
    const header = headers.find(one => one.name === name);
    if (header) return header;
    throw new Fault(
      'usage',
      `The runs of the ${version} side sent the header ${printable(name)}: --header '${printable(name)}: env:VARIABLE'.`,
    );
  });
}

/** The values that the runs masked; without them, an answer could show what must not be seen. */
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
          throw new Fault('usage', `The runs masked the value of ${printable(name)}, and that variable is not set.`);
        return [name, value];
      }),
  );
}
