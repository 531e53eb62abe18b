/**
 * `npm run fuzz -- --seconds 30`: verifies mutated documents. Every input must get a verdict that is consistent and
 * agrees with the oracles. Prints the seed; `--seed N` repeats a run.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import canonicalOracle from 'canonicalize';
import { canonicalize } from '../src/base/canonical.ts';
import { systemClock } from '../src/base/clock.ts';
import { contractNames, loadContracts } from '../src/contracts/catalogue.ts';
import { verifyRunner } from '../src/verify/index.ts';
import { examine } from '../src/verify/examine.ts';
import type { Verdict } from '../src/verify/verdict.ts';

const WORDS = [
  '__proto__',
  'constructor',
  'toString',
  '',
  'x',
  'schema_version',
  'contract_version',
  '\ud83d\ude00',
  'a.b[0]',
  'length',
];
const VALUES: unknown[] = [
  null,
  true,
  '',
  ' ',
  'x',
  '/etc/passwd',
  '../..',
  'C:\\x',
  '~',
  'a\u0000b',
  'sk-live-0123456789abcdef',
  'sha256:',
  0,
  -0,
  -1,
  1.5,
  1e21,
  1e-7,
  2 ** 53 - 1,
  [],
  {},
  [[]],
  [null],
  { __proto__: null },
  '2026-02-30T00:00:00Z',
  '2026-01-06T12:00:00Z',
  'x'.repeat(3000),
  Array.from({ length: 300 }, () => 7),
];
const TOKENS = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u0000',
  '\\ud800',
  '\\udc00',
  'null',
  'true',
  '-',
  '0',
  '1e999',
  '9007199254740993',
  '1E400',
  '.',
  '\u0000',
  '\ufeff',
  '\n',
  '"a":1,',
  '[[[[[[[[',
  'NaN',
  '😀',
  '\u2028',
];

const flags = process.argv.slice(2);
const seconds = number('--seconds') ?? 30;
const seed = number('--seed') ?? systemClock.now() % 2 ** 31;
const random = generator(seed);
const contracts = await loadContracts();
const seeds = [...corpus(), ...contracts.map(({ example }) => canonicalize(example))];
const outcomes: Record<string, number> = {};
const end = systemClock.now() + seconds * 1000;
let rounds = 0;

console.log(`fuzzing for ${seconds} s with --seed ${seed}, from ${seeds.length} documents`);
while (systemClock.now() < end) {
  const bytes = mutated();
  try {
    await judge(bytes);
  } catch (error) {
    console.error(
      `round ${rounds} of --seed ${seed} violated an invariant on ${bytes.length} bytes, in base64:\n${Buffer.from(bytes).toString('base64').slice(0, 20_000)}`,
    );
    console.error(error);
    process.exit(1);
  }
  rounds++;
}
console.log(`${rounds} documents, no invariant violated: ${JSON.stringify(outcomes)}`);

async function judge(bytes: Uint8Array): Promise<void> {
  const as = random() < 0.3 ? pick(contractNames) : undefined;
  const options = { strict: random() < 0.3, internal: random() < 0.3, ...(as !== undefined && { as }) };
  const { verdict, value } = await examine(bytes, { input: 'fuzz' }, options);
  outcomes[verdict.outcome] = (outcomes[verdict.outcome] ?? 0) + 1;
  promise(JSON.stringify(verdict) !== undefined, 'a verdict can be serialized');
  promise(
    (verdict.outcome === 'invalid') === verdict.violations.length > 0,
    'a document is invalid if and only if it has violations',
  );
  promise((verdict.hash !== undefined) === (verdict.outcome === 'valid'), 'only a valid document has a hash');
  promise(
    (verdict.outcome === 'refused') === (verdict.reason !== undefined),
    'a document has a reason if and only if it was refused',
  );
  wellSaid(verdict);
  if (verdict.outcome === 'refused') return;

  const text = Buffer.from(bytes).toString('utf8');
  promise(canonicalize(value) === canonicalOracle(JSON.parse(text)), 'both canonical forms agree');
  const again = await examine(Buffer.from(canonicalize(value)), { input: 'fuzz' }, options);
  promise(again.verdict.outcome !== 'refused', 'the canonical form of an accepted document is accepted');
  promise(
    verdict.outcome !== 'valid' || again.verdict.hash === verdict.hash,
    'the canonical form of a valid document has the same hash',
  );
  if (verdict.contract === 'runner' && !options.strict) {
    promise(verifyRunner(value).valid === (verdict.outcome === 'valid'), 'the library and the verifier agree');
  }
}

function wellSaid({ violations, advice, reason }: Verdict): void {
  for (const { message } of [...violations, ...advice, ...(reason ? [reason] : [])]) {
    promise(message.endsWith('.') && message.length < 10_000, 'every message is a sentence');
    promise(!/undefined|\[object|NaN,|sk-live/.test(message), 'no message contains a placeholder or a secret');
  }
}

function promise(holds: boolean, what: string): void {
  if (!holds) throw new Error(`Violated invariant: ${what}.`);
}

/** Returns a document from the corpus with one to eight mutations of its value, text or bytes. */
function mutated(): Uint8Array {
  let text = pick(seeds);
  const changes = 1 + Math.floor(random() * 8);
  const kind = random();
  if (kind < 0.5) {
    const document = JSON.parse(text) as unknown;
    for (let change = 0; change < changes; change++) changeValue(document);
    return Buffer.from(JSON.stringify(document) ?? 'null');
  }
  if (kind < 0.75) {
    for (let change = 0; change < changes; change++) text = changeText(text);
    return Buffer.from(text);
  }
  const bytes = Buffer.from(text);
  for (let change = 0; change < changes; change++)
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
  return bytes;
}

function changeValue(document: unknown): void {
  const nodes: object[] = [];
  collect(document, nodes);
  if (nodes.length === 0) return;
  const node = pick(nodes) as Record<string, unknown>;
  const keys = Object.keys(node);
  const key = keys.length > 0 && random() < 0.85 ? pick(keys) : pick(WORDS);
  if (Array.isArray(node) && key === 'length') return;
  const dice = random();
  const value: unknown = structuredClone(dice < 0.4 ? node[pick(keys.length > 0 ? keys : ['x'])] : pick(VALUES));
  if (dice < 0.2) Reflect.deleteProperty(node, key);
  else Object.defineProperty(node, key, { value, enumerable: true, writable: true, configurable: true });
  if (Array.isArray(node) && random() < 0.3) node.reverse();
}

function collect(value: unknown, nodes: object[]): void {
  if (typeof value !== 'object' || value === null) return;
  nodes.push(value);
  for (const inner of Object.values(value)) collect(inner, nodes);
}

function changeText(text: string): string {
  const at = Math.floor(random() * (text.length + 1));
  const until = at + Math.floor(random() * 12);
  const dice = random();
  if (dice < 0.3) return text.slice(0, at) + text.slice(until);
  if (dice < 0.6) return text.slice(0, at) + pick(TOKENS) + text.slice(at);
  if (dice < 0.8)
    return text.slice(0, at) + text.slice(at, until).repeat(1 + Math.floor(random() * 40)) + text.slice(until);
  return text.slice(0, at) + pick(TOKENS) + text.slice(until);
}

function* corpus(): Generator<string> {
  const folder = path.join('tests', 'corpus');
  for (const name of readdirSync(folder)) {
    for (const file of readdirSync(path.join(folder, name))) {
      if (name !== 'schemas') yield readFileSync(path.join(folder, name, file), 'utf8');
    }
  }
}

function pick<Item>(list: readonly Item[]): Item {
  return list[Math.floor(random() * list.length)] as Item;
}

function number(flag: string): number | undefined {
  const at = flags.indexOf(flag);
  return at < 0 ? undefined : Number(flags[at + 1]);
}

/** mulberry32: small, and deterministic on every machine. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
