import { didYouMean } from '../../base/nearest.ts';

/** The names that a template can contain. */
const NAMES = [
  'input.user',
  'case.id',
  'run.id',
  'side',
  'attempt.key',
  'session.id',
  'messages',
  'port',
  'poll.id',
  'output',
] as const;

/** Names that continue with a key of the case, or with the name of an environment variable. */
const PREFIXES = ['input.context.', 'case.metadata.', 'env:'] as const;

/** Why a template cannot contain a name; undefined if it can. `allowed` says which known names have a value here. */
export function nameFault(name: string, allowed: (name: string) => boolean): string | undefined {
  if (isKnown(name)) return allowed(name) ? undefined : `\${${name}} has no value here.`;
  const prefix = PREFIXES.find(start => name === start || `${name}.` === start || `${name}:` === start);
  if (prefix) return `\${${prefix}…} needs a key.`;
  return `The placeholder has an unknown name.${didYouMean(name, candidates(name))}`;
}

function isKnown(name: string): boolean {
  if ((NAMES as readonly string[]).includes(name)) return true;
  const prefix = PREFIXES.find(start => name.startsWith(start) && name.length > start.length);
  if (prefix === undefined) return false;
  return prefix !== 'env:' || VARIABLE.test(name.slice(prefix.length));
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The known names, and each prefix with the last part of the given name, so that a typo in a prefix is found too. */
function candidates(name: string): string[] {
  const key = /[^.:]+$/.exec(name)?.[0] ?? '';
  return [...NAMES, ...PREFIXES.map(prefix => `${prefix}${key}`)];
}

/** What the names stand for in one request: `${case.id}` is `case.id` here. A name may have no value. */
export interface TemplateValues {
  readonly input?: { readonly user: string; readonly context?: unknown };
  readonly case?: { readonly id: string; readonly metadata?: unknown };
  readonly run?: { readonly id: string };
  readonly side?: string;
  readonly attempt?: { readonly key: string };
  readonly session?: { readonly id: string };
  readonly messages?: readonly unknown[];
  readonly port?: number;
  readonly poll?: { readonly id: string };
  /** The path of the file that a program writes. */
  readonly output?: string;
  readonly env?: (name: string) => string | undefined;
}

/** The value of a name; undefined if it has none. A key may contain dots, so it is one key, not a path. */
export function valueOfName(name: string, values: TemplateValues): unknown {
  if (name.startsWith('env:')) return values.env?.(name.slice('env:'.length));
  const [first = '', second, ...rest] = name.split('.');
  const scope = member(values, first);
  if (second === undefined) return scope;
  return rest.length === 0 ? member(scope, second) : member(member(scope, second), rest.join('.'));
}

function member(holder: unknown, key: string): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined;
  return (holder as Record<string, unknown>)[key];
}
