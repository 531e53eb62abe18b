/** Reads a compose file as an engine does: merged, and with the values of variables. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly stop_signal?: NodeJS.Signals;
  readonly stop_grace_period?: string;
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly deploy?: { readonly replicas?: number };
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export function composeFile(file: string, variables: Readonly<Record<string, string>>): ComposeFile {
  const document: unknown = parse(readFileSync(file, 'utf8'), { merge: true });
  return filledIn(document, variables) as ComposeFile;
}

/** Replaces `${NAME}` and `${NAME:?what to do}`. Every variable must be set. */
function filledIn(value: unknown, variables: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string')
    return value.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => {
      const found = variables[name];
      if (found === undefined) throw new Error(`The compose file needs ${name}.`);
      return found;
    });
  if (Array.isArray(value)) return value.map(item => filledIn(item, variables));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filledIn(item, variables)]));
}

/** The names of services, so that each comes after those that it depends on. */
export function startOrder({ services }: ComposeFile): string[] {
  const order: string[] = [];
  const add = (name: string): void => {
    for (const before of Object.keys(services[name]?.depends_on ?? {})) add(before);
    if (!order.includes(name)) order.push(name);
  };
  for (const name of Object.keys(services)) add(name);
  return order;
}

/** `45s` or `5m` in milliseconds. */
export function timeOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d+)(s|m)$/.exec(text) ?? [];
  if (unit === '') throw new Error(`Not a time: ${text}`);
  return Number(count) * (unit === 'm' ? 60_000 : 1_000);
}
