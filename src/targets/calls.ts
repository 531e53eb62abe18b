import { durationMs } from '../base/units.ts';
import type { TargetDeclaration, TargetPoll, TargetRequest } from '../contracts/target/index.ts';
import type { ApiRequest } from './kinds/kind.ts';
import { type ApiDeclaration, apiRequestOf } from './kinds/kinds.ts';
import { MappingError, pathAt } from './mapping/mapping-error.ts';
import { type CompiledPath, selectFirst } from './mapping/path.ts';
import { StepBudget, withinSteps } from './mapping/step-budget.ts';
import { compileTemplate, type Template, TemplateError } from './mapping/template.ts';
import type { TemplateEncoding as Encoding } from './mapping/template-encoding.ts';
import type { TemplateValues } from './mapping/template-names.ts';

/** The requests of an API, ready to be filled in. */
export interface ApiCalls {
  readonly url: CallText;
  /** Headers of every request. */
  readonly headers: CallFields;
  readonly main: CallTemplate;
  readonly reset?: CallTemplate;
  readonly session?: { readonly call: CallTemplate; readonly take: ReadPath };
  readonly poll?: Poll;
  /** The environment variables that the requests use. */
  readonly variables: ReadonlySet<string>;
}

export interface FilledCall {
  readonly method: NonNullable<TargetRequest['method']>;
  /** Below the URL of the target, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Thrown if the values of a case do not fit into a request. */
export class CallError extends Error {
  override readonly name = 'CallError';
}

type CallTemplate = (values: TemplateValues) => FilledCall;
export type CallText = (values: TemplateValues) => string;
export type CallFields = (values: TemplateValues) => Readonly<Record<string, string>>;
/** The first value at a path of a reply. */
export type ReadPath = (document: unknown) => unknown;

interface Poll {
  readonly id: ReadPath;
  readonly call: CallTemplate;
  readonly everyMs: number;
  readonly isOver: (document: unknown) => boolean;
  /** Undefined if the reply has no state, so further polls would find none either. */
  readonly state: ReadPath;
  readonly hasFailed: (document: unknown) => boolean;
}

/** Compiles the requests of a declaration. Throws a TemplateError or MappingError with the key that is wrong. */
export function compileCalls(declaration: ApiDeclaration): ApiCalls {
  const variables = new Set<string>();
  const compiler = new CallCompiler(variables);
  const { url, session, reset } = declaration;
  const { headers: ofKind = {}, ...request } = apiRequestOf(declaration);
  const poll = 'poll' in declaration ? declaration.poll : undefined;
  return {
    url: compiler.text(url, 'url', 'none', isOfTarget),
    headers: compileHeaders(declaration, ofKind, compiler),
    main: compiler.call(request, declaration.kind === 'http' ? 'request' : '', isOfCase),
    ...(reset && { reset: compiler.call(reset, 'reset', isOfCase) }),
    ...(session && {
      session: {
        call: compiler.call(session.request, 'session.request', isBeforeSession),
        take: readPath(session.take, 'session.take'),
      },
    }),
    ...(poll && { poll: compilePoll(poll, compiler) }),
    variables,
  };
}

/** The declared headers and those of the kind. A declared header wins. */
export function compileHeaders(
  declaration: TargetDeclaration,
  ofKind: Readonly<Record<string, string>>,
  compiler: CallCompiler,
): CallFields {
  const { headers = {}, auth } = 'headers' in declaration || 'auth' in declaration ? declaration : {};
  const own = compiler.fields({ ...lowerCased(ofKind), ...lowerCased(headers) }, 'headers', 'header');
  const bearer = auth && compiler.text(auth.bearer, 'auth.bearer', 'header');
  return values => ({ ...own(values), ...(bearer && { authorization: `Bearer ${bearer(values)}` }) });
}

/** The URL of a declaration, with its placeholders filled in. */
export function declaredUrl(declaration: TargetDeclaration, values: TemplateValues): string {
  const url = 'url' in declaration ? (declaration.url ?? '') : '';
  return new CallCompiler(new Set()).text(url, 'url', 'none')(values);
}

/** Reads the first value at a path of a declaration. */
export function readDeclaredPath(path: string): ReadPath {
  return readPath(path, 'version.read');
}

export class CallCompiler {
  readonly #variables: Set<string>;

  constructor(variables: Set<string>) {
    this.#variables = variables;
  }

  call(request: TargetRequest & Pick<ApiRequest, 'write'>, place: string, allowed = isOfCase): CallTemplate {
    const { method, path = '', query = {}, body, write } = request;
    const at = (key: string): string => (place === '' ? key : `${place}.${key}`);
    checkPath(path, at('path'));
    const pathText = this.text(path, at('path'), 'path', allowed);
    const fields = this.fields(query, at('query'), 'query', allowed);
    const tree = body === undefined ? undefined : this.#template(body, at('body'), 'none', allowed);
    const verb = method ?? (body === undefined ? 'GET' : 'POST');
    return values => {
      const search = Object.entries(fields(values)).map(([name, value]) => `${encodeURIComponent(name)}=${value}`);
      return {
        method: verb,
        path: `${pathText(values)}${search.length > 0 ? `?${search.join('&')}` : ''}`,
        headers: {},
        ...(tree && { body: JSON.stringify(filled(tree, values)) }),
        ...(write && { body: write(values) }),
      };
    };
  }

  text(text: string, place: string, encoded: Encoding, allowed = isOfTarget): CallText {
    const template = this.#template(text, place, encoded, allowed);
    return values => {
      const value = filled(template, values);
      return typeof value === 'string' ? value : JSON.stringify(value ?? '');
    };
  }

  fields(texts: Readonly<Record<string, string>>, place: string, encoded: Encoding, allowed = isOfCase): CallFields {
    const template = this.#template(texts, place, encoded, allowed);
    return values => filled(template, values) as Record<string, string>;
  }

  /** A tree of any values, such as the arguments of a tool. */
  tree(tree: unknown, place: string, allowed = isOfCase): (values: TemplateValues) => unknown {
    const template = this.#template(tree, place, 'none', allowed);
    return values => filled(template, values);
  }

  #template(tree: unknown, place: string, encoded: Encoding, allowed: (name: string) => boolean): Template {
    const template = compileTemplate(tree, { allowed, encoded, place });
    for (const name of template.names) if (name.startsWith('env:')) this.#variables.add(name.slice('env:'.length));
    return template;
  }
}

/** A path of an API is below its URL. Anything else would change the host or the base path. */
function checkPath(path: string, place: string): void {
  if (path !== '' && !/^\/(?!\/)/.test(path)) throw new TemplateError(place, 'A path must start with a single slash.');
  if (/[^\x21-\x7e]/.test(path)) throw new TemplateError(place, 'Percent-encode spaces and characters outside ASCII.');
}

function filled(template: Template, values: TemplateValues): unknown {
  const result = template.fillIn(values);
  if (result.ok) return result.value;
  throw new CallError(`${result.place}: ${result.message}`);
}

/** Names that have a value before any case is sent. */
export const isOfTarget = (name: string): boolean => name === 'port' || name.startsWith('env:');
const isOfCase = (name: string): boolean => isOfPoll(name) && name !== 'poll.id';
const isBeforeSession = (name: string): boolean => isOfCase(name) && name !== 'session.id';
const isOfPoll = (name: string): boolean => name !== 'messages' && name !== 'output';

function compilePoll(poll: TargetPoll, compiler: CallCompiler): Poll {
  const { id, path, every = '500ms', until, failed } = poll;
  return {
    id: readPath(id, 'poll.id'),
    call: compiler.call({ method: 'GET', path }, 'poll', isOfPoll),
    everyMs: Math.max(durationMs(every), POLL_MS_MIN),
    isOver: stateTest(until, 'poll.until.path'),
    state: readPath(until.path, 'poll.until.path'),
    hasFailed: failed ? stateTest(failed, 'poll.failed.path') : () => false,
  };
}

/** Shorter pauses would load the target more than the cases do. */
const POLL_MS_MIN = 10;

type State = TargetPoll['until'];

/** Whether the value at a path is one of a list. */
export function stateTest({ path, in: values }: State, place: string): (document: unknown) => boolean {
  const read = readPath(path, place);
  return document => (values as readonly unknown[]).includes(read(document));
}

function readPath(text: string, place: string): ReadPath {
  const path: CompiledPath = pathAt(place, text, '$');
  return document => withinSteps(() => selectFirst(path, document, new StepBudget()));
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Whether an error says what is wrong in a declaration. */
export function isDeclarationError(error: unknown): error is TemplateError | MappingError {
  return error instanceof TemplateError || error instanceof MappingError;
}
