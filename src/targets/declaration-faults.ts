import { placeOf } from '../base/place.ts';
import { durationMs, type TargetDeclaration } from '../contracts/target/index.ts';
import { compileCalls, isDeclarationError } from './calls.ts';
import { compileConversation } from './conversation.ts';
import { isApi } from './kinds/kinds.ts';
import { declaredReader } from './reader.ts';
import { compileToolCall } from './tool-call.ts';

interface DeclarationFault {
  /** The key, such as `reply.events[0].tool`. */
  readonly path: string;
  /** A sentence that starts with the key. */
  readonly message: string;
}

/** What is wrong with a declaration that keeps its contract: placeholders, paths, URLs and headers. */
export function* declarationFaults(declaration: TargetDeclaration): Generator<DeclarationFault> {
  yield* keyFaults(declaration);
  yield* urlFaults(declaration);
  yield* headerFaults(declaration);
  yield* compiled('', () => isApi(declaration) && compileCalls(declaration, durationMs));
  yield* compiled('', () => declaration.kind === 'websocket' && compileConversation(declaration));
  yield* compiled('', () => declaration.kind === 'mcp-tool' && compileToolCall(declaration));
  yield* compiled('reply', () => declaredReader(declaration, true, 0));
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
    if (declaration[key]) yield faultAt(key, `does not go with the kind ${kind}, which has no requests of its own`);
  }
  if (kind === 'websocket') return;
  if ((declaration.url === undefined) === (declaration.run === undefined)) {
    yield faultAt('url', 'must be present if and only if run is not: a server is reached by HTTP or started');
  } else {
    const [over, others] = declaration.run
      ? (['run', ['headers', 'auth', 'start']] as const)
      : (['url', ['env']] as const);
    for (const key of others) if (declaration[key]) yield faultAt(key, `does not go with ${over}`);
  }
}

const faultAt = (path: string, says: string): DeclarationFault => ({ path, message: `${path} ${says}.` });

function* urlFaults(declaration: TargetDeclaration): Generator<DeclarationFault> {
  const url = 'url' in declaration ? declaration.url : undefined;
  if (url === undefined) return;
  const fault = (says: string): DeclarationFault => ({ path: 'url', message: `url ${says}.` });
  const scheme = declaration.kind === 'websocket' ? /^wss?:\/\// : /^https?:\/\//;
  // A placeholder stands for a host or a port.
  const plain = url.replace(/:\$\{port\}/, ':80').replace(/\$\{[^}]*\}/g, 'x');
  if (!scheme.test(url) && !url.startsWith('${')) {
    yield fault(
      declaration.kind === 'websocket' ? 'must start with ws:// or wss://' : 'must start with http:// or https://',
    );
  } else if (!url.startsWith('${') && !URL.canParse(plain)) yield fault('is not a valid URL');
  else if (/[?#]/.test(url)) {
    yield fault(`must have no query and no fragment${isApi(declaration) ? '; declare a query in request.query' : ''}`);
  } else if (/^[a-z]+:\/\/[^/]*@/.test(url)) yield fault('must have no credentials; declare them in auth or headers');
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
