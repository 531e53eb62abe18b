import { Masker, maskingOf } from '../base/masker.ts';
import { printable } from '../base/printable.ts';
import { agentVersion } from '../execute/served/agent-version.ts';
import { HttpTarget } from '../execute/http.ts';
import { readReplyJson } from '../targets/reply.ts';
import { declaredHeaders, declaredUrl, readDeclaredPath } from '../targets/calls.ts';
import type { DeclaredTarget } from '../run/suite/target-file.ts';
import type { RunSuiteOptions } from './run-suite.ts';

/** Which agent a declaration reaches, as its version command or path says. Undefined if that is not declared. */
export async function declaredVersion(
  { declaration, dir }: DeclaredTarget,
  { environment = {}, secrets = {}, signal, onWarning }: RunSuiteOptions,
): Promise<string | undefined> {
  const { version } = declaration;
  if (!version) return undefined;
  const context = { environment, secrets: Object.values(secrets), ...(signal && { signal }) };
  const found = version.run
    ? await agentVersion({ run: version.run, cwd: dir }, context)
    : await servedVersion(declaration, secrets);
  if (found.version === null) onWarning?.(`The version of the target is unknown: ${found.reason}`);
  return found.version ?? undefined;
}

type Version = Awaited<ReturnType<typeof agentVersion>>;

/** Asks the target for its version with a GET request. */
async function servedVersion(
  declaration: DeclaredTarget['declaration'],
  secrets: Readonly<Record<string, string>>,
): Promise<Version> {
  const variable = (name: string): string | undefined => (Object.hasOwn(secrets, name) ? secrets[name] : undefined);
  const { path = '/', read = '$' } = declaration.version ?? {};
  const base = new URL(declaredUrl(declaration, { env: variable }));
  const http = new HttpTarget(base.origin, 1);
  try {
    const {
      ended,
      status = 0,
      body,
    } = await http.send({
      method: 'GET',
      path: `${base.pathname.replace(/\/$/, '')}${path}`,
      headers: { ...declaredHeaders(declaration, { env: variable }), accept: 'application/json' },
      deadlineMs: DEADLINE_MS,
      idleMs: DEADLINE_MS,
      bodyBytesMax: BODY_BYTES_MAX,
      redirectsMax: 0,
    });
    if (ended !== 'complete' || status < 200 || status > 299) return unknown('The version request failed.');
    const masked = new Masker(maskingOf(Object.values(secrets))).whole(body);
    const document = readReplyJson(masked, BODY_BYTES_MAX);
    const value = document.ok ? readDeclaredPath(read)(document.value) : masked.toString().split('\n', 1)[0];
    const text = typeof value === 'string' || typeof value === 'number' ? printable(String(value)).trim() : '';
    return text === ''
      ? unknown('The version request returned no text.')
      : { version: Array.from(text).slice(0, 200).join('') };
  } finally {
    await http.close();
  }
}

function unknown(reason: string): Version {
  return { version: null, reason };
}

const DEADLINE_MS = 10_000;
const BODY_BYTES_MAX = 64 * 1024;
