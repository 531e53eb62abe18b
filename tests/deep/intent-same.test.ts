import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/contracts/run-result/index.ts';
import type * as Library from '../../src/verbs/index.ts';
import { canonicalPart, expectSound, node, writes } from '../run/intent/world.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

const RUNS = 20;
const AT_ONCE = 8;

/** Prints everything about its environment that must be the same everywhere. */
const INTENT = {
  goal: 'Tell what the sandbox is like',
  files: [
    { path: 'src/ä.txt', content: 'ä' },
    { path: 'out/here.txt', content: 'here' },
  ],
  commands: [
    writes(`
const list = (folder) => fs.readdirSync(folder, { withFileTypes: true }).flatMap(one => one.isDirectory() ? list(folder + '/' + one.name) : [folder + '/' + one.name]).sort();
console.log(process.env, process.cwd(), process.argv, process.getuid(), process.umask(), new Date(0).toString(), (1234.5).toLocaleString(), ['ä', 'z'].sort(new Intl.Collator().compare));
console.log(list('.'), list('/tmp'), fs.statSync('src/ä.txt').mode, fs.statSync('out').mode, require('node:os').hostname(), process.pid, process.ppid);
fs.writeFileSync('out/b.txt', 'b'); fs.writeFileSync('out/a.txt', 'a'); fs.mkdirSync('out/sub'); fs.writeFileSync('out/sub/z', '');`),
    node('console.error("to people"); console.log("end")'),
  ],
  outputs: ['out/'],
  accept: [{ check: 'content_matches', path: 'out/a.txt', pattern: '^a$' }],
};

/** Every run has a different folder, user and time. */
const WORLDS = Array.from({ length: RUNS }, (_, at) => ({
  at,
  umask: ['022', '077', '000', '027'][at % 4] as string,
  shiftMs: [0, 86_400_000 * 365, -86_400_000 * 900, 12_345_678][at % 4] as number,
  env: {
    LANG: ['C', 'de_DE.UTF-8', 'tr_TR.UTF-8', 'C.UTF-8'][at % 4],
    LC_ALL: ['C', 'de_DE.UTF-8', '', 'tr_TR.UTF-8'][at % 4],
    TZ: ['UTC', 'Asia/Tokyo', 'America/St_Johns'][at % 3],
    NODE_ENV: ['production', 'test'][at % 2],
    CI: ['', '1'][at % 2],
    COLUMNS: String(40 + at),
  },
}));

/** Shifts the clock of a process and its children. */
const CLOCK = `const shift = Number(process.env.SHIFT_MS), now = Date.now, RealDate = Date;
globalThis.Date = class extends RealDate { constructor(...given) { super(...(given.length ? given : [now() + shift])); } static now() { return now() + shift; } };`;

async function asked(mode: string, world: (typeof WORLDS)[number]): Promise<{ result: RunResult; folder: string }> {
  const root = temporaryFolder();
  chmodSync(root, 0o755);
  const cwd = path.join(root, ...Array.from({ length: (world.at % 5) + 1 }, () => `ordner ü ${world.at}`));
  const home = path.join(root, `home-${world.at}`);
  mkdirSync(cwd, { recursive: true });
  mkdirSync(home);
  writeFileSync(path.join(cwd, 'intent.json'), JSON.stringify(INTENT, null, world.at % 3));
  const clock = path.join(root, 'clock.cjs');
  writeFileSync(clock, CLOCK);
  const command = [
    process.execPath,
    path.join(ROOT, 'dist/proctor.js'),
    'run',
    'intent',
    'intent.json',
    '--mode',
    mode,
    '--policy',
    'strict',
  ];
  const child = spawn('sh', ['-c', `umask ${world.umask}; exec "$@"`, 'sh', ...command], {
    cwd,
    env: {
      ...process.env,
      ...world.env,
      HOME: home,
      SHIFT_MS: String(world.shiftMs),
      NODE_OPTIONS: `--require=${clock}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const code = await new Promise<number | null>(resolve => child.once('close', resolve));
  expect(code, said.stderr).toBe(0);
  const result = JSON.parse(said.stdout) as RunResult;
  const folder = path.join(cwd, '.proctor/runs/intent', result.run_id);
  await expectSound({ result, folder });
  return { result, folder };
}

describe.each(['plan-only', 'execute-sandbox'] as const)('in mode %s', mode => {
  test('the canonical part is identical for every user, folder and time, alone and in parallel', async () => {
    const parts = new Map<string, number[]>();
    const years = new Set<string>();
    const take = async (world: (typeof WORLDS)[number]): Promise<void> => {
      const { result } = await asked(mode, world);
      const part = canonicalPart(result);
      parts.set(part, [...(parts.get(part) ?? []), world.at]);
      years.add(result.started_at.slice(0, 4));
    };
    const alone = WORLDS.slice(0, RUNS - AT_ONCE);
    for (const world of alone) await take(world);
    await Promise.all(WORLDS.slice(alone.length).map(take));
    expect([...parts.values()]).toEqual([expect.anything()]);
    // The clocks differed, but the result does not show it.
    expect(years.size).toBeGreaterThan(1);
    const { runIntent, reproduce } = (await import(path.join(ROOT, 'dist/index.js'))) as typeof Library;
    const cwd = temporaryFolder();
    const intent = path.join(cwd, 'intent.json');
    writeFileSync(intent, JSON.stringify(INTENT));
    const { result, folder } = await runIntent({ intent, cwd, mode, policy: 'strict' });
    expect(canonicalPart(result)).toBe([...parts.keys()][0]);
    expect(await reproduce(folder, { cwd })).toMatchObject({ same: true });
  });
});
