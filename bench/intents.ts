/**
 * `npm run bench:intents`: the cost of planning an intent over reading, canonicalizing and hashing the same bytes, how it
 * grows with size, and the cost of executing an intent over running an equivalent script. Uses one process.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { writeAtomic } from '../src/base/atomic.ts';
import { canonicalize } from '../src/base/canonical.ts';
import { bytesHash } from '../src/base/hash.ts';
import { readJson } from '../src/base/json.ts';
import { runIntent, type RunIntentOptions } from '../src/verbs/run-intent.ts';
import { closeLauncher } from '../src/verbs/launcher.ts';
import { runScript } from '../src/verbs/run-script.ts';
import { medians } from './interleaved.ts';

const ROUNDS = Number(process.argv[2] ?? 15);
const PLAN_BOUND = 3;
const EXECUTION_BOUND = 1.5;
/** Twice the time per MB is above linear growth with noise, and below quadratic growth. */
const LINEAR_BOUND = 2;
const MB = 1_000_000;
const SIZES_MB = [1, 2, 5, 10] as const;
// On the project's disk, like a user's runs.
const cwd = mkdtempSync(path.join(process.cwd(), 'node_modules', '.bench-'));
process.on('exit', () => rmSync(cwd, { recursive: true, force: true }));

/** Intents of about the given size, each large in a different part. */
const SHAPES: Readonly<Record<string, (bytes: number) => object>> = {
  'one large file': bytes => ({
    files: [{ path: 'data.txt', content: 'a line of some words, as a file has them\n'.repeat(bytes / 42) }],
  }),
  'many constraints': bytes => ({
    constraints: Array.from({ length: bytes / 12 }, (_, index) => `must ${index.toString(36)}`),
  }),
  'constraints that ask and deny': bytes => ({
    constraints: Array.from({ length: bytes / 14 }, (_, index) =>
      [`must ${index}`, `must not ${index}`, 'within 9 s', `some ${index}`].at(index % 4),
    ),
  }),
  'many files': bytes => ({
    files: Array.from({ length: bytes / 1000 }, (_, index) => ({
      path: `src/${index}.txt`,
      content: 'some words \n'.repeat(70),
    })),
  }),
};

const plans = await planFigures();
const execution = await executionFigures();
await closeLauncher();

const worst = Math.max(...Object.values(plans).map(({ ofReading }) => ofReading));
// `npm run bench:intents` then runs ledger.ts, which measures concurrent appends to one ledger.
writeAtomic(
  path.join('bench', 'results', 'intents.json'),
  `${JSON.stringify({ node: process.version, cores: availableParallelism(), rounds: ROUNDS, plans, execution }, undefined, 2)}\n`,
);
const steepest = Math.max(...Object.values(plans).flatMap(({ perMbOfThatOf1Mb }) => Object.values(perMbOfThatOf1Mb)));
if (worst > PLAN_BOUND || steepest > LINEAR_BOUND || execution.ofScript > EXECUTION_BOUND) process.exitCode = 1;

/** Compares a plan of 1 MB with the minimum work on its bytes, and larger plans with the 1 MB plan. */
async function planFigures() {
  const figures: Record<string, { ofReading: number; perMbOfThatOf1Mb: Record<string, number>; ms: object }> = {};
  for (const [shape, intentOf] of Object.entries(SHAPES)) {
    const fileOf = (size: number): string => path.join(cwd, `${size}.json`);
    for (const size of SIZES_MB)
      writeFileSync(fileOf(size), JSON.stringify({ goal: 'Keep all of it', ...intentOf(size * MB) }));
    const plan = (size: number) => () => decided({ intent: fileOf(size), policy: 'default', cwd });
    const { least = 1, whole = 0 } = await medians(
      {
        least: async () => leastOf(readFileSync(fileOf(1))),
        whole: plan(1),
      },
      ROUNDS,
    );
    const times = await medians(Object.fromEntries(SIZES_MB.map(size => [size, plan(size)])), ROUNDS);
    const of1Mb = times['1'] ?? 1;
    const perMb = Object.fromEntries(
      SIZES_MB.slice(1).map(size => [size, ratio((times[size] ?? 0) / size, of1Mb)] as const),
    );
    const ofReading = ratio(whole, least);
    figures[shape] = { ofReading, perMbOfThatOf1Mb: perMb, ms: { least, whole } };
    line(`${shape}: plan of 1 MB / reading, canonicalizing and hashing it`, ofReading, `(limit ${PLAN_BOUND})`);
    for (const [size, value] of Object.entries(perMb))
      line(`${shape}: time per MB of ${size} MB / of 1 MB`, value, `(linear: about 1, limit ${LINEAR_BOUND})`);
  }
  return figures;
}

/** Compares an intent whose command does nothing with a script that only writes its result. */
async function executionFigures() {
  const intent = path.join(cwd, 'nothing.json');
  const script = path.join(cwd, 'nothing.sh');
  writeFileSync(intent, JSON.stringify({ goal: 'Do nothing', commands: [{ argv: ['true'] }] }));
  writeFileSync(
    script,
    `echo '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`,
  );
  const times = await medians(
    {
      script: async () => {
        const { status, message } = await runScript({ script, profile: 'dev', cwd });
        if (status !== 'succeeded') throw new Error(message ?? 'no reason');
      },
      intent: () => decided({ intent, policy: 'dev', mode: 'execute-sandbox', cwd }),
    },
    ROUNDS,
  );
  const ofScript = ratio(times['intent'] ?? 0, times['script'] ?? 1);
  line('run of an empty intent / run of an empty script', ofScript, `(limit ${EXECUTION_BOUND})`);
  return { ofScript, ms: times };
}

function leastOf(bytes: Buffer): string {
  const reading = readJson(bytes, { bytesMax: 16 * 1024 ** 2 });
  if (!reading.ok) throw new Error(reading.refusal.message);
  return bytesHash(canonicalize(reading.value));
}

async function decided(options: RunIntentOptions): Promise<void> {
  const { result } = await runIntent(options);
  if (!result.decision.accepted) throw new Error(result.decision.reasons.join(' '));
}

function ratio(value: number, to: number): number {
  return Number((value / to).toFixed(2));
}

function line(what: string, value: number, bound: string): void {
  console.log(`${what.padEnd(68)} ${value.toFixed(2).padStart(6)}  ${bound}`);
}
