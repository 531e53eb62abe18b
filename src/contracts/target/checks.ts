import { Masker, maskingOf } from '../../base/masker.ts';
import { durationMs, TIME } from '../../base/units.ts';
import { placeOf } from '../../base/place.ts';
import { type Finding, must } from '../rule.ts';
import type { TargetDeclaration } from './declaration.ts';

type Texts = Readonly<Record<string, unknown>>;

interface WithQuery {
  readonly query?: Texts | undefined;
}

/** The parts of a declaration in which a name can mark a credential. */
export interface CredentialKeys {
  readonly headers?: Texts | undefined;
  readonly auth?: { readonly bearer: string } | undefined;
  readonly request?: WithQuery | undefined;
  readonly session?: { readonly request: WithQuery } | undefined;
  readonly reset?: WithQuery | undefined;
  readonly parameters?: Texts | undefined;
  readonly env?: Texts | undefined;
  readonly start?: { readonly env?: Texts | undefined } | undefined;
}

/** Every check on a target except its shape, for a target inside another document. */
export function* declarationFindings(declaration: TargetDeclaration): Generator<Finding> {
  yield* credentialFindings(declaration);
  if (declaration.kind === 'http') yield* endingFindings(declaration);
  yield* waitFindings(declaration);
}

/** Credentials that are written out. Evidence stores the declaration as it is, so it would store them too. */
export function* credentialFindings(declaration: CredentialKeys): Generator<Finding> {
  const found = new Set<string>();
  for (const [place, texts] of namedTextsIn(declaration)) {
    for (const [name, value] of Object.entries(texts)) {
      if (typeof value !== 'string' || !CREDENTIAL.test(name) || FROM_ENVIRONMENT.test(value)) continue;
      found.add(placeOf(place, name));
      yield must(`${place}.${name}`, 'carries a credential, so its value must come from ${env:NAME}');
    }
  }
  const { auth, ...others } = declaration;
  if (auth && !FROM_ENVIRONMENT.test(auth.bearer)) yield must('auth.bearer', 'must come from ${env:NAME}');
  const masker = new Masker(maskingOf([]));
  for (const { place, key, text } of textsIn(others, '', '')) {
    const isCredential = masker.spans(Buffer.from(text.includes('${') ? text : `${key}=${text}`)).length > 0;
    if (isCredential && !found.has(place))
      yield must(place, 'looks like a credential, so its value must come from ${env:NAME}');
  }
}

function namedTextsIn({ headers = {}, request, session, reset, parameters = {}, env = {}, start }: CredentialKeys) {
  return [
    ['headers', headers],
    ['request.query', request?.query ?? {}],
    ['session.request.query', session?.request.query ?? {}],
    ['reset.query', reset?.query ?? {}],
    ['parameters', parameters],
    ['env', env],
    ['start.env', start?.env ?? {}],
  ] as const;
}

const CREDENTIAL = /cookie|auth|token(?!s)|key|secret|password/i;
/** Only a scheme such as Bearer may precede the placeholder. */
const FROM_ENVIRONMENT = /^(?:[A-Za-z-]{1,20} )?\$\{[^{}]+\}$/;

/** All texts in a tree. The document reader limits its depth. */
function* textsIn(
  value: unknown,
  place: string,
  key: string,
): Generator<{ readonly place: string; readonly key: string; readonly text: string }> {
  if (typeof value === 'string') yield { place, key, text: value };
  if (typeof value !== 'object' || value === null) return;
  const isList = Array.isArray(value);
  for (const [name, member] of Object.entries(value)) {
    yield* textsIn(member, placeOf(place, isList ? Number(name) : name), isList ? key : name);
  }
}

interface Waits {
  readonly timeout?: string | undefined;
  readonly idle_timeout?: string | undefined;
  readonly start?: { readonly ready?: WithLimit | undefined; readonly stop?: WithLimit | undefined } | undefined;
}

interface WithLimit {
  readonly within?: string | undefined;
}

/** Waits that are longer than any attempt, or than a timer can count. */
export function* waitFindings({ timeout, idle_timeout, start }: Waits): Generator<Finding> {
  yield* longWait('timeout', timeout);
  yield* longWait('idle_timeout', idle_timeout);
  yield* longWait('start.ready.within', start?.ready?.within);
  yield* longWait('start.stop.within', start?.stop?.within);
}

interface Endings {
  readonly stream?: unknown;
  readonly poll?: { readonly every?: string | undefined } | undefined;
}

/** End conditions that contradict each other or can never occur. */
export function* endingFindings({ stream, poll }: Endings): Generator<Finding> {
  if (stream && poll) yield must('poll', 'cannot be combined with stream: the reply to a poll is one document');
  yield* longWait('poll.every', poll?.every);
}

function* longWait(place: string, text: string | undefined): Generator<Finding> {
  if (text !== undefined && TIME.test(text) && durationMs(text) > WAIT_MS_MAX) yield must(place, 'must be at most 60m');
}

const WAIT_MS_MAX = 3_600_000;
