import { Fault } from '../base/fault.ts';
import { Masker, maskingOf } from '../base/masker.ts';
import { printable } from '../base/printable.ts';
import { agentVersion } from '../execute/served/agent-version.ts';
import { HttpTarget } from '../execute/http.ts';
import { readReplyJson } from '../targets/reply.ts';
import { CallCompiler, CallError, compileHeaders, declaredUrl, readDeclaredPath } from '../targets/calls.ts';
import type { DeclaredTarget } from '../run/suite/target-file.ts';
import type { RunSuiteOptions } from './run-suite.ts';

/** Which agent a declaration reaches, as its version command or path says. Undefined if that is not declared. */
export async function declaredVersion(
  { declaration, dir }: Pick<DeclaredTarget, 'declaration' | 'dir'>,
  { environment = {}, secrets = {}, signal, onWarning }: VersionContext,
): Promise<string | undefined> {
  const { version } = declaration;
  if (!version) return undefined;
  const context = { environment, secrets: Object.values(secrets), ...(signal && { signal }) };
  const found = version.run
    ? await agentVersion({ run: version.run, cwd: dir }, context)
    : await servedVersion(declaration, secrets, signal);
  if (found.version === null) onWarning?.(`The version of the target is unknown: ${found.reason}`);
  return found.version ?? undefined;
}

type VersionContext = Pick<RunSuiteOptions, 'environment' | 'secrets' | 'signal' | 'onWarning'>;

type Version = Awaited<ReturnType<typeof agentVersion>>;

/** Asks the target for its version with a GET request. */
async function servedVersion(
  declaration: DeclaredTarget['declaration'],
  secrets: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<Version> {
  const request = requestFor(declaration, secrets);
  if ('reason' in request) return request;
  const { origin, ...call } = request;
  const http = new HttpTarget(origin, 1);
  const cancel = (): void => http.cancel();
  signal?.addEventListener('abort', cancel);
  try {
    if (signal?.aborted) throw cancelled();
    const limits = { deadlineMs: DEADLINE_MS, idleMs: DEADLINE_MS, bodyBytesMax: BODY_BYTES_MAX, redirectsMax: 0 };
    const { ended, status = 0, body } = await http.send({ method: 'GET', ...call, ...limits });
    if (ended === 'cancelled') throw cancelled();
    if (ended !== 'complete') return unknown('The version request failed.');
    if (status < 200 || status > 299) return unknown(`The version request returned status ${status}.`);
    return versionIn(body, declaration.version?.read ?? '$', secrets);
  } finally {
    signal?.removeEventListener('abort', cancel);
    await http.close();
  }
}

/** The version request, or why the declaration's variables give no valid request. */
function requestFor(declaration: DeclaredTarget['declaration'], secrets: Readonly<Record<string, string>>) {
  const values = { env: (name: string) => (Object.hasOwn(secrets, name) ? secrets[name] : undefined) };
  try {
    const url = declaredUrl(declaration, values);
    if (!/^https?:/.test(url) || !URL.canParse(url))
      return unknown('The url of the target is not an http or https URL.');
    const base = new URL(url);
    const headers = compileHeaders(declaration, {}, new CallCompiler(new Set()))(values);
    return {
      origin: base.origin,
      path: `${base.pathname.replace(/\/$/, '')}${declaration.version?.path ?? '/'}`,
      headers: { ...headers, accept: 'application/json', 'accept-encoding': 'identity' },
    };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return unknown(`The version request cannot be sent: ${error.message}`);
  }
}

/** The text at a path of a JSON reply, or the first line of another one. */
function versionIn(body: Buffer, read: string, secrets: Readonly<Record<string, string>>): Version {
  const masked = new Masker(maskingOf(Object.values(secrets))).whole(body);
  const document = readReplyJson(masked, BODY_BYTES_MAX);
  const value = document.ok ? readDeclaredPath(read)(document.value) : masked.toString().split('\n', 1)[0];
  const text = typeof value === 'string' || typeof value === 'number' ? printable(String(value)).trim() : '';
  if (text === '') return unknown('The version request returned no text.');
  return { version: Array.from(text).slice(0, CHARACTERS_MAX).join('') };
}

function unknown(reason: string): { readonly version: null; readonly reason: string } {
  return { version: null, reason };
}

function cancelled(): Fault {
  return new Fault('cancelled', 'The run was cancelled.');
}

const DEADLINE_MS = 10_000;
const BODY_BYTES_MAX = 64 * 1024;
const CHARACTERS_MAX = 200;
