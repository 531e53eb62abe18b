import { Fault } from '../base/fault.ts';
import { newCorrelationId } from '../base/ids.ts';
import { Masker, maskingOf } from '../base/masker.ts';
import { withParts } from '../base/secret-parts.ts';
import { shellQuoted } from '../base/shell.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { SuiteCase, SuiteTarget } from '../contracts/suite/index.ts';
import type { HttpAnswer } from '../execute/http.ts';
import * as artifacts from '../run/suite/artifact.ts';
import type { ApiCall } from '../run/suite/http-target.ts';
import type { SeenProgram } from '../run/suite/program-target.ts';
import { DEFAULT_SETTINGS } from '../run/suite/settings.ts';
import type { AttemptResult } from '../run/suite/target.ts';
import { type MappedPlace, mappedPlaces } from '../targets/mapped-places.ts';
import { type RepairCounts, type RepairId, REPLY_REPAIRS } from '../targets/repairs.ts';
import { boundsOf, declaredFor, withDeclared } from './declared.ts';
import type { RunSuiteOptions } from './run-suite.ts';
import { checkedSettings } from './suite-words.ts';

export { REPLY_REPAIRS, type RepairId };

export interface TryOptions {
  /** The target file. */
  readonly target: string;
  /** The text of the question. */
  readonly text: string;
  readonly context?: unknown;
  readonly timeoutMs?: number;
  readonly strictReplies?: boolean;
  readonly cwd?: string;
  readonly environment?: RunSuiteOptions['environment'];
  readonly signal?: AbortSignal;
}

/** One question, and everything that it led to. All texts are masked. */
export interface Tried {
  readonly target: Extract<SuiteTarget, { kind: 'declared' }>;
  readonly exchanges: readonly TriedExchange[];
  readonly result: Pick<AttemptResult, 'latencyMs'> & { readonly ttftMs?: number };
  /** What each path of the mapping found; empty for Proctor's own protocol. */
  readonly places: readonly MappedPlace[];
  /** How often each repair was applied. */
  readonly repairs: RepairCounts;
  readonly artifact: CaseArtifact;
}

export interface TriedExchange {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: readonly string[];
    readonly body: string;
  };
  readonly status: number | null;
  readonly ended: string;
  readonly contentType: string | null;
  readonly reply: string;
  /** What a program printed besides its reply; absent for an API. */
  readonly log?: string;
}

/** Asks a declared target one question. Stores nothing. */
export async function tryTarget(options: TryOptions): Promise<Tried> {
  const { cwd = process.cwd(), text, context, strictReplies } = options;
  const given = { target: options.target, environment: options.environment ?? {}, cases: '', as: 'new' as const };
  const { declared, ofTarget = {}, secrets = {} } = await withDeclared(given, cwd);
  if (!declared) throw new Fault('usage', 'Specify a target file.');
  const { name, declaration } = declared;
  const replies = strictReplies ? 'strict' : (declaration.replies ?? 'lenient');
  const target = { kind: 'declared', name, replies, declaration } as const;
  const asked = {
    ...ofTarget,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    concurrency: 1,
  };
  const settings = checkedSettings(asked, DEFAULT_SETTINGS);
  const runId = `try_${newCorrelationId()}`;
  const seen: [ApiCall, HttpAnswer][] = [];
  const programs: SeenProgram[] = [];
  const onExchange = (call: ApiCall, answer: HttpAnswer): void => {
    // With many polls, only the first and the last matter.
    if (seen.length === EXCHANGES_MAX) seen.splice(EXCHANGES_MAX / 2, 1);
    seen.push([call, answer]);
  };
  const signal = options.signal ?? new AbortController().signal;
  const environment = options.environment ?? {};
  const bounds = await boundsOf(declared, environment, settings);
  const plan = { request: { version: 'new', run_id: runId }, declared: { dir: declared.dir }, bounds } as const;
  const api = await declaredFor(
    target,
    plan,
    { secrets, onExchange, onProgram: run => void programs.push(run), environment, signal },
    settings,
  );
  const cancel = (): void => api.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const one: SuiteCase = {
      schema_version: 'suite-case.v1',
      id: 'try',
      input: { user: text, ...(context !== undefined && { context }) },
    };
    const told = await api.ask({ one, attempt: 1, key: `${runId}/try/1`, signal });
    if (signal.aborted) throw new Fault('cancelled', 'Cancelled before an answer arrived.');
    return triedOf(told, { target, seen, programs, secrets: withParts(Object.values(secrets)), settings });
  } finally {
    signal.removeEventListener('abort', cancel);
    await api.close();
  }
}

const EXCHANGES_MAX = 100;

interface Around {
  readonly target: Tried['target'];
  readonly seen: readonly (readonly [ApiCall, HttpAnswer])[];
  readonly programs: readonly SeenProgram[];
  readonly secrets: readonly string[];
  readonly settings: typeof DEFAULT_SETTINGS;
}

function triedOf(told: AttemptResult, { target, seen, programs, secrets, settings }: Around): Tried {
  const { outcome, latencyMs } = told;
  const named = { id: 'try', side: 'new', url: `target:${target.name}`, settings } as const;
  const artifact = outcome.ok
    ? artifacts.answeredCase(named, [], outcome).artifact
    : artifacts.failedCase(named, [], outcome, told);
  const masked = (value: string): string => new Masker(maskingOf(secrets)).text(value);
  const failed = outcome.ok || outcome.body?.isLog ? undefined : outcome.body?.bytes;
  const body = outcome.ok ? outcome.kept?.body : failed;
  const frameMs = outcome.ok ? outcome.kept?.frameMs : undefined;
  return {
    target,
    exchanges: [...seen.map(one => exchangeOf(one, masked)), ...programs.map(one => programExchange(one, masked))],
    result: { latencyMs, ...(outcome.ok && outcome.ttftMs !== undefined && { ttftMs: outcome.ttftMs }) },
    places: body ? mappedPlaces(target.declaration, { body, ...(frameMs && { frameMs }) }, settings.bodyBytesMax) : [],
    repairs: outcome.ok ? outcome.repairs : {},
    artifact,
  };
}

type Mask = (text: string) => string;

function exchangeOf([call, answer]: readonly [ApiCall, HttpAnswer], masked: Mask): TriedExchange {
  const { method, path, headers, body = '' } = call;
  const { 'content-type': contentType } = answer.headers;
  return {
    request: {
      method,
      path: masked(path),
      headers: Object.entries(headers).map(([name, value]) => masked(`${name}: ${value}`)),
      body: masked(body),
    },
    status: answer.status ?? null,
    ended: answer.ended,
    contentType: contentType === undefined ? null : masked(contentType),
    reply: masked(answer.body.toString()),
  };
}

/** Words, variables and standard input are the request of a program. */
function programExchange({ words, env, input = '', ended, output, log }: SeenProgram, masked: Mask): TriedExchange {
  return {
    request: {
      method: 'run',
      path: masked(words.map(shellQuoted).join(' ')),
      headers: Object.entries(env).map(([name, value]) => masked(`${name}=${value}`)),
      body: masked(input),
    },
    status: null,
    ended,
    contentType: null,
    reply: output,
    log,
  };
}
