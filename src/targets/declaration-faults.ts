import { placeOf } from '../base/place.ts';
import type { TargetDeclaration } from '../contracts/target/index.ts';
import { compileCalls, isDeclarationError, isOfTarget, readDeclaredPath } from './calls.ts';
import { compileConversation } from './conversation.ts';
import { isApi, replyFormOf } from './kinds/kinds.ts';
import { pathAt } from './mapping/mapping-error.ts';
import { compileTemplate } from './mapping/template.ts';
import { compileWords } from './mapping/words-template.ts';
import { compileProgram, runsProgram } from './program-call.ts';
import { programFaults } from './program-faults.ts';
import { declaredReader } from './reader.ts';
import { replyEnd } from './reply-end.ts';
import { compileToolCall } from './tool-call.ts';

export interface DeclarationFault {
  /** The key, such as `reply.events[0].tool`. */
  readonly path: string;
  /** A sentence that starts with the key. */
  readonly message: string;
}

/** What is wrong with a declaration that satisfies its contract: placeholders, paths, URLs and headers. */
export function* declarationFaults(declaration: TargetDeclaration): Generator<DeclarationFault> {
  yield* keyFaults(declaration);
  yield* urlFaults(declaration);
  yield* headerFaults(declaration);
  yield* startFaults(declaration);
  yield* compiled('', () => isApi(declaration) && compileCalls(declaration));
  if (runsProgram(declaration)) {
    yield* programFaults(declaration);
    yield* compiled('', () => compileProgram(declaration));
  }
  yield* compiled('', () => declaration.kind === 'websocket' && compileConversation(declaration));
  yield* compiled('', () => declaration.kind === 'mcp-tool' && compileToolCall(declaration));
  yield* compiled('', () => readDeclaredPath(declaration.version?.read ?? '$'));
  yield* compiled('', () => declaration.kind === 'http' && declaration.stream && replyEnd(declaration));
  const faults = [...compiled('', () => compileFirstOutput(declaration))];
  yield* faults;
  // The reader compiles it too.
  if (faults.length === 0) yield* compiled('reply', () => declaredReader(declaration, true, 0));
}

function compileFirstOutput(declaration: TargetDeclaration): void {
  const { firstOutput } = replyFormOf(declaration) ?? {};
  if (firstOutput !== undefined)
    pathAt(declaration.kind === 'http' ? 'stream.first_output' : 'first_output', firstOutput, '$@');
}

function* compiled(below: string, act: () => unknown): Generator<DeclarationFault> {
  try {
    act();
  } catch (error) {
    if (!isDeclarationError(error)) throw error;
    const path = below === '' ? error.place : placeBelow(below, error.place);
    yield { path, message: `${path}: ${error.message}` };
  }
}

function placeBelow(below: string, place: string): string {
  return place === '' ? below : place.startsWith('[') ? `${below}${place}` : `${below}.${place}`;
}

/** Keys that do not go together. The shape has checked each of them alone. */
function* keyFaults(declaration: TargetDeclaration): Generator<DeclarationFault> {
  if (declaration.kind !== 'mcp-tool' && declaration.kind !== 'websocket') return;
  const { kind } = declaration;
  for (const key of ['reset', 'session'] as const) {
    if (declaration[key]) yield faultAt(key, `is not allowed for the kind ${kind}, which has no requests of its own`);
  }
  if (declaration.version?.path !== undefined && (kind === 'websocket' || declaration.run))
    yield faultAt('version.path', 'needs a target that answers HTTP requests; use version.run');
  if (kind === 'websocket') return;
  if ((declaration.url === undefined) === (declaration.run === undefined)) {
    yield faultAt('url', 'must be present if and only if run is not: a server is reached by HTTP or started');
  } else {
    const [over, others] = declaration.run
      ? (['run', ['headers', 'auth', 'start']] as const)
      : (['url', ['env']] as const);
    for (const key of others) if (declaration[key]) yield faultAt(key, `cannot be combined with ${over}`);
  }
}

function faultAt(path: string, says: string): DeclarationFault {
  return { path, message: `${path} ${says}.` };
}

function urlFault(says: string): DeclarationFault {
  return faultAt('url', says);
}

function* urlFaults(declaration: TargetDeclaration): Generator<DeclarationFault> {
  const url = 'url' in declaration ? declaration.url : undefined;
  if (url === undefined) return;
  const scheme = declaration.kind === 'websocket' ? /^wss?:\/\// : /^https?:\/\//;
  // A placeholder stands for a host or a port.
  const plain = url.replace(/:\$\{port\}/, ':80').replace(/\$\{[^}]*\}/g, 'x');
  if (!scheme.test(url) && !url.startsWith('${')) {
    yield urlFault(
      declaration.kind === 'websocket' ? 'must start with ws:// or wss://' : 'must start with http:// or https://',
    );
  } else if (!url.startsWith('${') && !URL.canParse(plain)) yield urlFault('is not a valid URL');
  else if (/[?#]/.test(url)) {
    const where = isApi(declaration) ? '; declare a query in request.query' : '';
    yield urlFault(`must have no query and no fragment${where}`);
  } else if (/^[a-z]+:\/\/[^/]*@/.test(url))
    yield urlFault('must have no credentials; declare them in auth or headers');
}

const isPort = (name: string): boolean => name === 'port';

function* startFaults({ start, version, ...declaration }: TargetDeclaration): Generator<DeclarationFault> {
  const [run, env] = [start?.run ?? [], start?.env ?? {}];
  yield* compiled('', () => compileWords(run, { allowed: isPort, place: 'start.run' }, 'start.env'));
  yield* compiled('', () => compileTemplate(env, { allowed: isOfTarget, place: 'start.env' }));
  if (version && (version.run === undefined) === (version.path === undefined))
    yield { path: 'version', message: 'version must have either run or path.' };
  if (version?.path !== undefined && !/^\/(?!\/)/.test(version.path))
    yield { path: 'version.path', message: 'version.path must start with a single slash.' };
  if (version?.path !== undefined && start)
    yield { path: 'version.path', message: 'version.path needs a target that is already running. Use version.run.' };
  const usesPort = 'url' in declaration && declaration.url?.includes('${port}');
  if (usesPort && !start) yield { path: 'url', message: 'url has ${port}, but nothing is started. Declare start.' };
}

function* headerFaults(declaration: TargetDeclaration): Generator<DeclarationFault> {
  const headers = 'headers' in declaration ? (declaration.headers ?? {}) : {};
  for (const name of Object.keys(headers)) {
    const path = placeOf('headers', name);
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name))
      yield { path, message: `${path} is not a valid header name.` };
    else if (OF_THE_CONNECTION.test(name)) yield { path, message: `${path} is a header that Proctor sets itself.` };
  }
}

const OF_THE_CONNECTION =
  /^(?:mcp-(?:method|name|protocol-version|session-id)|sec-websocket-(?!protocol).*|connection|content-length|expect|host|idempotency-key|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;
