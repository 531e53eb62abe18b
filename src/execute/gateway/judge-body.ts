import { readJson } from '../../base/json.ts';
import { isObject } from '../../contracts/kind.ts';
import type { BodyRules, Endpoint, Members } from './gateway.ts';
import { Refused } from './refused.ts';
import { wordsIn } from './values.ts';

export interface JudgedBody {
  /** The original bytes, or the serialized body if something was removed. */
  readonly bytes: Buffer;
  readonly model: string | undefined;
  /** How many members were removed or forced, by path. */
  readonly stripped: ReadonlyMap<string, number>;
}

/**
 * Checks the body of a request if the network is denied. Throws `Refused` if the request must not be forwarded.
 *
 * The parser refuses everything that two parsers could read differently, so the provider understands an unchanged body
 * exactly as Proctor does.
 */
export function judgeBody(bytes: Buffer, rules: BodyRules, endpoint: Endpoint, bytesMax: number): JudgedBody {
  const body = membersIn(bytes, bytesMax);
  const walk = new Walk(rules);
  for (const key of Object.keys(body)) {
    const isEmpty = body[key] === null || body[key] === false;
    if (rules.reach.has(key) ? !isEmpty : !rules.keys.has(key))
      throw rules.reach.has(key)
        ? new Refused('reach', keyText(key), 'A request contained a key that gives access to more than the model')
        : new Refused('key', keyText(key), 'A request contained an unknown key');
  }
  const model = typeof body['model'] === 'string' ? body['model'] : undefined;
  if (model !== undefined && rules.refusedModels?.test(model))
    throw new Refused('model', 'model', 'A request named a model that searches the network');
  walk.members(body);
  walk.settle(body);
  const forced = rules.force?.(body, endpoint) ?? [];
  const stripped = new Map([...walk.dropped, ...forced.map(path => [path, 1] as const)]);
  return { bytes: stripped.size > 0 ? Buffer.from(JSON.stringify(body)) : bytes, model, stripped };
}

/** The model of a request, if the network is open and bodies are not checked. */
export function modelIn(bytes: Buffer, bytesMax: number): string | undefined {
  const { model } = membersIn(bytes, bytesMax);
  return typeof model === 'string' ? model : undefined;
}

function membersIn(bytes: Buffer, bytesMax: number): Members {
  const reading = readJson(bytes, { bytesMax });
  if (!reading.ok)
    throw new Refused('body', 'body', `A request had a body that cannot be checked: ${reading.refusal.code}`);
  if (!isObject(reading.value)) throw new Refused('body', 'body', 'A request had a body that is not a JSON object');
  return reading.value;
}

/** One pass over a body. Removes the provider's tools from the parsed copy. */
class Walk {
  /** How many tools were removed, by path. A hostile body can have millions. */
  readonly dropped = new Map<string, number>();
  readonly #rules: BodyRules;
  readonly #path: string[] = [];
  readonly #droppedNames = new Set<unknown>();
  #kept = 0;

  constructor(rules: BodyRules) {
    this.#rules = rules;
  }

  members(parent: Members): void {
    for (const key in parent) {
      const value = parent[key];
      if (typeof value === 'string') this.#text(key, value);
      else if (typeof value === 'object' && value !== null && !this.#isSkipped(key, parent)) {
        this.#path.push(key);
        if (key === 'tools' && Array.isArray(value)) parent[key] = this.#tools(value);
        else this.#value(value);
        this.#path.pop();
      }
    }
  }

  /** Checks that need all tools. */
  settle(body: Members): void {
    const [first] = this.dropped.keys();
    if (first !== undefined && this.#kept === 0)
      throw new Refused('tool', first, 'A request offered only tools that the provider would run');
    const { choice } = this.#rules;
    const chosen = choice && body[choice.key];
    if (choice && isObject(chosen)) this.#choice(chosen, choice.types, choice.key);
  }

  #value(value: object): void {
    if (!Array.isArray(value)) return this.members(value as Members);
    this.#path.push('[]');
    for (const one of value) if (typeof one === 'object' && one !== null) this.#value(one as object);
    this.#path.pop();
  }

  #text(key: string, text: string): void {
    if (key === 'type' && this.#rules.refusedTypes.test(text))
      throw new Refused(
        'reference',
        this.#at(key),
        'A request referred to something that the provider would fetch or run',
      );
    if (REFERENCES.has(key) && !/^data:/i.test(text))
      throw new Refused('reference', this.#at(key), 'A request referred to something that the provider would fetch');
  }

  #tools(tools: readonly unknown[]): unknown[] {
    return tools.flatMap(tool => {
      const kept = isObject(tool) ? this.#rules.tool(tool, within => this.#tools(within)) : undefined;
      if (kept !== tool) this.#note(tool, kept);
      // A namespace is not a tool itself.
      if (kept !== undefined && !('tools' in kept)) this.#kept++;
      return kept === undefined ? [] : [kept];
    });
  }

  /** A partly kept namespace was counted with its tools. */
  #note(tool: unknown, kept: Members | undefined): void {
    if (kept !== undefined && 'tools' in kept) return;
    const path = this.#at('[]');
    this.dropped.set(path, (this.dropped.get(path) ?? 0) + 1);
    if (isObject(tool))
      for (const name of [tool['name'], tool['type'], tool['server_label']]) this.#droppedNames.add(name);
  }

  #choice(chosen: Members, types: ReadonlySet<string>, key: string): void {
    for (const [name, value] of Object.entries(chosen)) {
      const isOther = name === 'type' && !types.has(value as string);
      if (isOther || (NAMES.has(name) && this.#droppedNames.has(value)))
        throw new Refused('tool', key, 'A request selected a tool that the provider would run');
      for (const one of Array.isArray(value) ? value : [value]) if (isObject(one)) this.#choice(one, types, key);
    }
  }

  #isSkipped(key: string, parent: Members): boolean {
    const { data, isData, choice } = this.#rules;
    return data.has(key) || isData?.(key, parent) === true || (key === choice?.key && this.#path.length === 0);
  }

  #at(key: string): string {
    return [...this.#path, key].map(keyText).join('.').replaceAll('.[]', '[]').slice(0, PATH_UNITS_MAX);
  }
}

/** Keys with a URL or file that the provider would fetch, unless the value contains the data itself (`data:`). */
const REFERENCES: ReadonlySet<string> = wordsIn(
  `url uri file_id file_url file_uri fileUri image_url audio_url video_url`,
);

const NAMES: ReadonlySet<string> = new Set(['name', 'type', 'server_label']);

/** A key as shown in evidence. An unusual key may contain anything, so it is not shown. */
function keyText(key: string): string {
  return /^(?:[A-Za-z_][\w-]{0,63}|\[\])$/.test(key) ? key : '?';
}

const PATH_UNITS_MAX = 200;
