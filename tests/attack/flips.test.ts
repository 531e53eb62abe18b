/** Flips one bit in one file of a signed folder. The verifier must notice every time. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
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

async function isValid(target: string): Promise<boolean> {
  for await (const { outcome } of verify([target], options)) if (outcome !== 'valid') return false;
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
