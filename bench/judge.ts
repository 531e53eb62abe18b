/** `npm run bench:judge`: what judging a run of a suite costs, beside reading and parsing the same files, in one process. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openLauncher } from '../src/execute/launch.ts';
import { checkByScript } from '../src/judge/check-script.ts';
import { evaluateSuite } from '../src/judge/evaluate.ts';
import { suiteFolder, type WorldCase } from '../tests/suite-world.ts';

const ROUNDS = 12;
const SCHEDULED = '/proc/thread-self/schedstat';
const SIZES = [2_500, 10_000];
const CHECKS = 40;
// On the disk of the project, as a user's runs would be.
const root = mkdtempSync(path.join(process.cwd(), 'node_modules', '.bench-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));

const runCheck = () => Promise.reject(new Error('no case has a script'));

for (const size of SIZES) {
  const folder = await suiteFolder(path.join(root, String(size)), { cases: Array.from({ length: size }, smallCase) });
  const plain: number[] = [];
  const judged: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    plain.push(await timed(() => readAndParse(folder)));
    judged.push(await timed(() => evaluateSuite(folder, { runCheck })));
  }
  globalThis.gc?.();
  const memory = `${Math.round(process.memoryUsage().rss / 1024 ** 2)} MB RSS`;
  console.log(
    `${size} cases: ${ms(judged)} to judge, ${ms(plain)} to read and parse: ${ratio(judged, plain)} times, ${memory}`,
  );
}

await checks();

/** What a script in the sandbox costs per case, where a check is all that a case asks for. */
async function checks(): Promise<void> {
  const file = 'assets/check_0123456789abcdef.py';
  const cases = Array.from({ length: CHECKS }, (_, index) => ({ id: `case-${index}`, expected: { script: { file } } }));
  const folder = await suiteFolder(path.join(root, 'checks'), { cases });
  writeFileSync(path.join(folder, file), 'open("input/artifact.json").read()\n');
  const launcher = openLauncher();
  const check = checkByScript({ launcher: () => Promise.resolve(launcher), home: path.join(root, '.proctor') });
  const began = performance.now();
  const { summary } = await evaluateSuite(folder, { runCheck: check });
  if (summary.passed !== CHECKS) throw new Error('a check did not hold');
  console.log(`${CHECKS} checks in the sandbox: ${Math.round((performance.now() - began) / CHECKS)} ms each`);
  await launcher.close();
}

function smallCase(_: unknown, index: number): WorldCase {
  const id = `case-${index}`;
  return {
    id,
    expected: {
      contains: `answer to ${id}`,
      not_contains: ['sorry', 'cannot'],
      must_include: 'THE ANSWER',
      regex: '^The answer to case-\\d+\\.$',
      tool_sequence: ['orders.get'],
      max_latency_ms: 1_000,
    },
    artifact: {
      events: [
        { type: 'tool_call', ts: 1, call_id: 'c', tool: 'orders.get', args: { id: index } },
        { type: 'tool_result', ts: 2, call_id: 'c', status: 'ok', latency_ms: 3, payload_summary: { total: index } },
      ],
    },
  };
}

/** The least that anybody must do who wants to look at every case. */
function readAndParse(folder: string): void {
  const lines = readFileSync(path.join(folder, 'assets', 'cases.ndjson'), 'utf8')
    .trimEnd()
    .split('\n');
  for (const line of lines) {
    const { id } = JSON.parse(line) as { id: string };
    JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8'));
  }
}

async function timed(work: () => unknown): Promise<number> {
  const began = nowMs();
  await work();
  return nowMs() - began;
}

/** The processor time of this thread, which what else the machine does leaves alone; the clock, where nobody tells it. */
function nowMs(): number {
  if (!existsSync(SCHEDULED)) return performance.now();
  return Number(readFileSync(SCHEDULED, 'utf8').split(' ')[0]) / 1e6;
}

function least(times: readonly number[]): number {
  return Math.min(...times);
}

function ms(times: readonly number[]): string {
  return `${Math.round(least(times))} ms`;
}

function ratio(times: readonly number[], others: readonly number[]): string {
  return (least(times) / least(others)).toFixed(2);
}
