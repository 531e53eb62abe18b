import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { newCorrelationId } from '../base/ids.ts';
import { didYouMean } from '../base/nearest.ts';
import { printable } from '../base/printable.ts';
import { storedUrl } from '../base/secret-parts.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { caseUrl, type SuiteRequest, type SuiteTarget, targetName } from '../contracts/suite/index.ts';
import { attemptsIn, homeFrom } from '../evidence/run-folder/runs.ts';
import { casesById, readCaseArtifact, readSuiteFolder } from '../evidence/suite/suite-folder.ts';
import type { Difference } from '../judge/causes/difference.ts';
import { firstDifference } from '../judge/causes/divergence.ts';
import * as artifacts from '../run/suite/artifact.ts';
import { settingsFrom, type SuiteSettings } from '../run/suite/settings.ts';
import type { Target } from '../run/suite/target.ts';
import { replyReader } from '../targets/reader.ts';
import { signerAt } from './keys.ts';
import { sharedLauncher } from './launcher.ts';
import { boundsOf, declaredFor, withDeclared } from './declared.ts';
import type { Header, RunSuiteOptions } from './run-suite.ts';
import { suiteFolder } from './evaluations.ts';
import { addressOf, secretsFor } from './suite-targets.ts';
import { checkedSettings, checkedUrl, checkHeader } from './suite-words.ts';

export interface ResendOptions {
  readonly run: string;
  readonly caseId: string;
  /** The API to send the request to; the recorded one by default. */
  readonly baseUrl?: string;
  readonly script?: string;
  /** The target file, if the run used one. */
  readonly target?: string;
  readonly environment?: RunSuiteOptions['environment'];
  readonly headers?: readonly Header[];
  readonly timeoutMs?: number;
  /** Reads an environment variable, to mask the values that the run masked. */
  readonly variable?: (name: string) => string | undefined;
  readonly cwd?: string;
  /** Key that signs a script's run; the key in `.proctor` by default. */
  readonly signingKey?: string;
  readonly signal?: AbortSignal;
}

/** The new answer, and the recorded one. */
export interface Resent {
  readonly runId: string;
  readonly caseId: string;
  readonly target: string;
  readonly latencyMs: number;
  readonly recorded: CaseArtifact;
  readonly now: CaseArtifact;
  /** The first difference; undefined if the answers are the same. */
  readonly difference: Difference | undefined;
}

/** Sends a case's recorded request again. It does not change the run. */
export async function resendCase(options: ResendOptions): Promise<Resent> {
  const { caseId, cwd = process.cwd() } = options;
  const home = homeFrom(cwd);
  const folder = suiteFolder(options.run, home);
  if (folder === undefined) throw new Fault('no_run', 'There is no such suite run. Run proctor list to see the runs.');
  const { request, run } = readSuiteFolder(folder);
  const one = casesById(folder)(caseId);
  const recorded = readCaseArtifact(folder, caseId);
  if (!one || !recorded) {
    const meant = didYouMean(caseId, run.selected_case_ids);
    throw new Fault('no_case', `The run has no case "${printable(caseId)}".${meant}`);
  }
  const recordedSettings = { ...settingsFrom(request.settings), concurrency: 1 };
  const { timeoutMs } = options;
  const settings = timeoutMs === undefined ? recordedSettings : checkedSettings({ timeoutMs }, recordedSettings);
  const { target, url, askedAt = url } = await targetFor(options, { request, settings, home, cwd });
  const signal = options.signal ?? new AbortController().signal;
  // An HTTP target does not observe the signal.
  const cancel = (): void => target.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const key = `${request.run_id}/${caseId}/resend-${newCorrelationId()}`;
    const told = signal.aborted ? undefined : await target.ask({ one, attempt: 1, key, signal });
    if (!told || signal.aborted) throw new Fault('cancelled', 'Cancelled before an answer arrived.');
    const named = { id: caseId, side: run.version, url: askedAt, settings };
    const { outcome } = told;
    const now = outcome.ok
      ? artifacts.answeredCase(named, [], outcome).artifact
      : artifacts.failedCase(named, [], outcome, told);
    const difference = firstDifference(recorded, now, NAMES);
    return { runId: run.run_id, caseId, target: url, latencyMs: told.latencyMs, recorded, now, difference };
  } finally {
    signal.removeEventListener('abort', cancel);
    await target.close();
  }
}

const NAMES = { was: 'the recorded one', is: 'The new attempt' };

interface Recorded {
  readonly request: SuiteRequest;
  readonly settings: SuiteSettings;
  readonly home: string;
  readonly cwd: string;
}

/** The secrets of the run. Without them, an answer could contain a secret unmasked. */
function secretsOf({ request }: Recorded, { headers = [], variable }: ResendOptions): Record<string, string> {
  const given = new Map(headers.map(({ env, value }) => [env, value]));
  return Object.fromEntries(
    request.secret_names.map(name => {
      const value = given.get(name) ?? variable?.(name);
      if (value === undefined) {
        throw new Fault(
          'usage',
          `The run masked the environment variable ${printable(name)}, which is not set. Set it.`,
        );
      }
      return [name, value];
    }),
  );
}

interface Asked {
  readonly target: Target;
  readonly url: string;
  /** The URL of the case, if it differs from that of the target. */
  readonly askedAt?: string;
}

async function targetFor(options: ResendOptions, recordedRun: Recorded): Promise<Asked> {
  const { baseUrl, script, headers = [] } = options;
  const { request, settings, home, cwd } = recordedRun;
  const secrets = secretsOf(recordedRun, options);
  const { run_id: runId, version: side, target: recorded } = request;
  if (script !== undefined) {
    const { scriptTarget } = await import('../run/suite/script-target.ts');
    const bounds = { timeoutMs: settings.timeoutMs };
    const file = path.resolve(cwd, script);
    const agent = {
      script: file,
      side,
      runId,
      launcher: sharedLauncher,
      home: attemptsIn(home),
      signer: signerAt(cwd, options.signingKey),
      bounds,
      secrets,
      settings,
    };
    return { target: scriptTarget(agent), url: `script:${path.basename(file)}` };
  }
  if (baseUrl === undefined && recorded.kind === 'declared')
    return declaredAgain(options, recordedRun, recorded, secrets);
  if (baseUrl === undefined && recorded.kind === 'script') {
    throw new Fault('usage', `The run used the script ${printable(recorded.name)}. Specify its file: --script FILE.`);
  }
  if (baseUrl === undefined && recorded.kind === 'agent') {
    throw new Fault(
      'usage',
      `The run used the agent ${recorded.name}. Run the suite again with --only and the id of the case.`,
    );
  }
  const url =
    baseUrl === undefined && recorded.kind === 'http' ? addressOf(recorded.url, undefined) : checkedUrl(baseUrl ?? '');
  const lacking =
    recorded.kind === 'http' && recorded.header_names.find(name => headers.every(one => one.name !== name));
  if (baseUrl === undefined && lacking) {
    throw new Fault(
      'usage',
      `The run sent the header ${printable(lacking)}. Add --header '${printable(lacking)}: env:VARIABLE'.`,
    );
  }
  const { protocolTarget } = await import('../run/suite/protocol-target.ts');
  for (const header of headers) checkHeader(header);
  const agent = {
    url,
    side,
    runId,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    secrets: secretsFor(url, headers, secrets),
    keepCredentials: request.keep_credentials === true,
    redirects: recorded.kind === 'http' && recorded.redirects,
    read: replyReader(recorded, settings.bodyBytesMax),
    settings,
  };
  return { target: protocolTarget(agent), url: storedUrl(url), askedAt: caseUrl(storedUrl(url)) };
}

/** A run folder never names what to start or where to send secrets, so the user names the target file. */
async function declaredAgain(
  { target: file, environment = {}, signal }: ResendOptions,
  { request, settings, home, cwd }: Recorded,
  recorded: Extract<SuiteTarget, { kind: 'declared' }>,
  masked: Readonly<Record<string, string>>,
): Promise<Asked> {
  if (file === undefined)
    throw new Fault('usage', `The run used the target ${printable(recorded.name)}. Specify its file: --target FILE.`);
  const given = {
    target: file,
    environment,
    secrets: masked,
    cases: '',
    as: 'new',
    ...(signal && { signal }),
  } as const;
  const { declared, secrets = {} } = await withDeclared(given, cwd);
  if (!declared) throw new Fault('usage', 'Specify a target file.');
  const { name, declaration, dir } = declared;
  const named = { kind: 'declared', name, replies: recorded.replies, declaration } as const;
  const run = { request, declared: { dir }, bounds: await boundsOf(declared, environment, settings) };
  const context = { secrets, environment, home, ...(signal && { signal }) };
  return { target: await declaredFor(named, run, context, settings), url: targetName(named) };
}
