/** Flips one bit in one file of a signed folder. The verifier must notice every time. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { Fault } from '../../src/base/fault.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { sealDocument, type SealStatement, sealStatement } from '../../src/contracts/seal/index.ts';
import { mergeRuns } from '../../src/verbs/merge.ts';
import { type Options, verify } from '../../src/verify/index.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { randomFrom } from '../support/random.ts';
import type { Place } from '../support/runs.ts';
import { makeJudgedPlace } from '../support/judged-world.ts';

/** Flips per folder. `PROCTOR_FLIPS=10000` takes about an hour. */
const FLIPS = Number(process.env['PROCTOR_FLIPS'] ?? 200);
const SEED = Number(process.env['PROCTOR_SEED'] ?? 20_260_106);
const TIMEOUT_MS = 60_000 + FLIPS * 200;

let place: Place;
let programs = '';
let options: Options = {};
const folders = new Map<string, string>();

beforeAll(() => {
  place = makeJudgedPlace();
  programs = mkdtempSync(path.join(tmpdir(), 'proctor-agents-'));
  placeAgent('claude', programs);
  place.file('report.py', "import proctor_tool\nopen('output/a.txt', 'w').write('hello')\nproctor_tool.succeed()\n");
  place.file('intent.json', JSON.stringify({ goal: 'Say hello', commands: [{ argv: ['node', '-e', '0'] }] }));
  place.file('project/README.md', 'A project.\n');
  const project = path.join(place.cwd, 'project');
  gitIn(project, 'init', '-q', '-b', 'main');
  gitIn(project, 'config', 'user.name', 'somebody');
  gitIn(project, 'config', 'user.email', 'somebody@example.org');
  gitIn(project, 'add', '--all');
  gitIn(project, 'commit', '-q', '-m', 'One');
  const agent = ['run', 'agent', '--agent', 'claude', '--task', 'DO=write', '--dir', 'project', '--policy', 'edit'];
  for (const args of [
    ['run', 'script', 'report.py'],
    // Not the strict profile: it requires control groups, which an ordinary user may not have.
    ['run', 'intent', 'intent.json', '--mode', 'execute-sandbox'],
    agent,
  ]) {
    const ran = place.proctor(args, { env: { PATH: `${programs}:${process.env['PATH']}` } });
    expect(ran.code, ran.stderr).toBe(0);
  }
  const home = path.join(place.cwd, '.proctor');
  for (const lane of ['runs/script', 'runs/intent', 'runs/agent', 'runs/new', 'comparisons']) {
    const [name] = readdirSync(path.join(home, lane));
    folders.set(lane, path.join(home, lane, name as string));
  }
  const part = ['run', 'suite', 'cases.json', '--script', 'bad.sh', '--as', 'new', '--run-id'];
  for (const index of [1, 2]) place.proctor([...part, `part-${index}`, '--shard', `${index}/2`]);
  const merged = place.proctor(['merge', 'part-1', 'part-2', '--json']);
  expect(merged.code, merged.stderr).toBe(0);
  const { runs } = JSON.parse(merged.stdout) as { runs: readonly { readonly folder: string }[] };
  folders.set('merged', path.join(place.cwd, runs[0]?.folder ?? ''));
  folders.set('part', path.join(home, 'runs/new/part-1'));
  folders.set('baseline', path.join(place.cwd, 'proctor-baseline.json'));
  options = { key: readFileSync(path.join(home, 'keys', 'signing.pub'), 'utf8'), requireSignature: true };
}, 180_000);

afterAll(() => {
  place.remove();
  rmSync(programs, { recursive: true, force: true });
});

test.each([
  ['a script', 'runs/script', []],
  ['an intent', 'runs/intent', []],
  ['an agent', 'runs/agent', ['evaluation.json', 'evaluation.seal.json']],
  ['a suite', 'runs/new', ['evaluation.json', 'evaluation.seal.json']],
  ['a part', 'part', ['evaluation.json', 'evaluation.seal.json']],
  ['a merged run', 'merged', ['evidence/parts.ndjson']],
  ['a comparison', 'comparisons', ['comparison.json', 'comparison.seal.json', 'report.html']],
  ['an accepted baseline', 'baseline', []],
] as const)(
  'finds every flipped bit in %s',
  async (_, lane, wanted) => {
    const target = folders.get(lane) as string;
    expect(await isValid(target)).toBe(true);
    const files = filesOf(target);
    expect(files.map(file => path.relative(target, file))).toEqual(expect.arrayContaining([...wanted]));
    const random = randomFrom(SEED);
    const missed: string[] = [];
    for (let flip = 0; flip < FLIPS; flip++) {
      // Covers every file, however small.
      const file = files[flip % files.length] as string;
      const bytes = readFileSync(file);
      const at = Math.floor(random() * bytes.length);
      const bit = Math.floor(random() * 8);
      const flipped = Buffer.from(bytes);
      flipped[at] = (bytes[at] as number) ^ (1 << bit);
      writeFileSync(file, flipped);
      if (await isValid(target)) missed.push(`${path.relative(target, file)} byte ${at} bit ${bit}`);
      writeFileSync(file, bytes);
    }
    expect(missed).toEqual([]);
    expect(await isValid(target)).toBe(true);
  },
  TIMEOUT_MS,
);

test(
  'refuses to merge a part with a flipped bit, and finds a flipped bit in a list of parts that was sealed again',
  async () => {
    const random = randomFrom(SEED);
    const target = folders.get('part') as string;
    const judged = new Set(['evaluation.json', 'evaluation.seal.json']);
    const files = filesOf(target).filter(file => !judged.has(path.basename(file)));
    const other = path.join(path.dirname(target), 'part-2');
    const missed: string[] = [];
    for (let flip = 0; flip < FLIPS / 10; flip++) {
      const file = files[flip % files.length] as string;
      const { bytes, flipped, at } = flippedIn(file, random);
      writeFileSync(file, flipped);
      const code = await mergeRuns({ parts: [target, other], cwd: place.cwd }).then(
        () => 'merged',
        (error: unknown) => (error instanceof Fault ? error.code : 'crashed'),
      );
      if (code !== 'part_invalid') missed.push(`${path.relative(target, file)} byte ${at}: ${code}`);
      writeFileSync(file, bytes);
    }
    // A copy, because the ledger of the project knows the real seal.
    const merged = path.join(place.temp, 'merged');
    cpSync(folders.get('merged') as string, merged, { recursive: true });
    const lines = path.join(merged, 'evidence/parts.ndjson');
    const seal = path.join(merged, 'evidence/seal.json');
    const sealed = readFileSync(seal);
    const { requireSignature: _, ...partsOnly } = options;
    writeFileSync(seal, sealedAgain(sealed, 'evidence/parts.ndjson', readFileSync(lines)));
    expect(await isValid(merged, partsOnly)).toBe(true);
    for (let flip = 0; flip < FLIPS; flip++) {
      const { bytes, flipped, at } = flippedIn(lines, random);
      writeFileSync(lines, flipped);
      writeFileSync(seal, sealedAgain(sealed, 'evidence/parts.ndjson', flipped));
      // Without --require-signature, the unsigned seal of the run is only advice. The seals of the parts must tell.
      if (await isValid(merged, partsOnly)) missed.push(`a list of parts that was sealed again, byte ${at}`);
      writeFileSync(lines, bytes);
    }
    expect(missed).toEqual([]);
  },
  TIMEOUT_MS,
);

function flippedIn(file: string, random: () => number) {
  const bytes = readFileSync(file);
  const at = Math.floor(random() * bytes.length);
  const flipped = Buffer.from(bytes);
  flipped[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
  return { bytes, flipped, at };
}

/** An unsigned seal that matches a changed file. */
function sealedAgain(seal: Buffer, name: string, bytes: Buffer): string {
  const { payload } = JSON.parse(seal.toString()) as { payload: string };
  const { predicate, subject } = JSON.parse(Buffer.from(payload, 'base64').toString()) as SealStatement;
  const files = subject.map(one => ({
    path: one.name,
    sha256: one.name === name ? bytesHash(bytes) : `sha256:${one.digest.sha256}`,
    bytes: one.name === name ? bytes.length : one.annotations.size_bytes,
  }));
  const { run_id: runId, kind, sealed_at: sealedAt } = predicate;
  return canonicalize(sealDocument(sealStatement({ runId, kind, sealedAt, files })));
}

async function isValid(target: string, how = options): Promise<boolean> {
  for await (const { outcome } of verify([target], how)) if (outcome !== 'valid') return false;
  return true;
}

/** The non-empty files of a folder, or the single file. */
function filesOf(target: string): string[] {
  if (target.endsWith('.json')) return [target];
  return readdirSync(target, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter(file => readFileSync(file).length > 0)
    .sort();
}
