import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateFolder } from '../../src/base/state-folder.ts';
import { JOURNAL } from '../../src/evidence/run-folder/journal.ts';
import type { Kinds } from '../../src/evidence/recovery/kind.ts';
import { runsIn } from '../../src/evidence/run-folder/runs.ts';
import { sealDifference } from '../../src/evidence/run-folder/sealed-folder.ts';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { lifeOf, recoverAll } from '../../src/verbs/recover.ts';
import { listedRun } from '../../src/verbs/runs.ts';
import { ledgerOf } from '../../src/verbs/ledger.ts';
import { brokenIn, idsIn, ledgerIn } from '../evidence/ledger/ledger-world.ts';
import { troublesIn } from '../evidence/script/script-world.ts';
import { until } from '../support/runs.ts';
import { ROOT } from '../support/support.ts';
import { runToy, toyIn, toyKind } from './toy/kind.ts';
import type { Stop, Task } from './toy/process.ts';

/** A list of kinds that contains only the toy. */
const KINDS: Kinds = { toy: async () => toyKind };

const COMMAND = ['/bin/sh', '-c', 'echo hello; sleep 0.2'];

const launcher = openLauncher();
// Inside the checkout, where the program finds the built launcher.
const built = mkdtempSync(path.join(ROOT, 'node_modules', '.toy-'));
const program = path.join(built, 'toy.mjs');
let usualMs = 1_000;

beforeAll(async () => {
  const entry = path.join(import.meta.dirname, 'toy', 'process.ts');
  await build({
    entryPoints: [entry],
    outfile: program,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
  });
  const home = newHome();
  const began = performance.now();
  await started(home, 'never').ended;
  usualMs = performance.now() - began;
});

afterAll(async () => {
  await launcher.close();
  rmSync(built, { recursive: true, force: true });
});

const homes: string[] = [];
afterAll(() => {
  for (const folder of homes) rmSync(folder, { recursive: true, force: true });
});

function newHome(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  homes.push(folder);
  mkdirSync(path.join(folder, '.proctor', 'runs'), { recursive: true });
  return path.join(folder, '.proctor');
}

/** Starts a toy in a child process. */
function started(home: string, stopAt: Stop) {
  const task: Task = { home, stateFolder: stateFolder(), command: COMMAND, stopAt };
  const child = spawn(process.execPath, [program, JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => said.push(text));
  return {
    said: () => said.join(''),
    kill: () => child.kill('SIGKILL'),
    ended: once(child, 'close'),
  };
}

const recover = (home: string) => recoverAll(path.dirname(home), undefined, KINDS);

/** The seal format has no kind for toys, so they are sealed as scripts. The verifier then reports missing script documents. */
const MISSES = /^FD9 evidence\/seal\.json .* seals a run of kind script, but \S+ is missing or not a \S+ document/;

/** Checks that every run is sealed and in the ledger, without temporary files. Returns their documents. */
async function expectWhole(home: string) {
  const places = runsIn(home);
  for (const place of places) {
    expect(place).toMatchObject({ lane: 'toy', id: expect.stringMatching(/^toy_/) as string });
    expect(lifeOf(place)).toBe('finished');
    expect(await sealDifference(place.folder)).toMatchObject({ trouble: undefined });
    const names = readdirSync(place.folder, { recursive: true, encoding: 'utf8' });
    expect(names.filter(name => name === JOURNAL || /\.(?:tmp|part)$/.test(name))).toEqual([]);
  }
  if (places.length > 0) {
    expect(idsIn(home).sort()).toEqual(places.map(({ id }) => id).sort());
    expect(await brokenIn(ledgerIn(home))).toEqual([]);
  }
  for (const { folder } of places)
    expect((await troublesIn(folder)).filter(trouble => !MISSES.test(trouble))).toEqual([]);
  return places.map(({ folder }) => toyIn(folder));
}

test('a new kind needs only its own file to run, be sealed and be listed', async () => {
  const home = newHome();
  const output: string[] = [];
  const { place, judged, seen } = await runToy(COMMAND, {
    launcher,
    home,
    signer: undefined,
    ledger: ledgerOf(home),
    onOutput: (stream, bytes) => void output.push(`${stream}: ${Buffer.from(bytes).toString()}`),
  });
  expect(judged.reading).toEqual({ verdict: 'good' });
  expect(seen.capture.ending).toEqual({ how: 'exited', code: 0 });
  expect(output).toEqual(['stdout: hello\n']);
  expect(await expectWhole(home)).toMatchObject([{ run_id: place.id, verdict: 'good', ending: 'exited' }]);
  expect(await listedRun(place, lifeOf(place), KINDS)).toMatchObject({
    id: place.id,
    kind: 'toy',
    status: 'good',
    subject: 'a toy that exited',
  });
  writeFileSync(path.join(place.folder, 'toy.json'), '{}');
  expect(await sealDifference(place.folder)).toMatchObject({ trouble: 'toy.json is missing or was changed' });
});

test('a new kind whose judge fails leaves a valid run that counts as interrupted', async () => {
  const home = newHome();
  const fail = (step: string): void => {
    if (step === 'judge') throw new Error('a bug');
  };
  const context = { launcher, home, signer: undefined, ledger: ledgerOf(home) };
  await expect(runToy(COMMAND, context, fail)).rejects.toThrow('a bug');
  expect(await expectWhole(home)).toMatchObject([{ verdict: 'interrupted', ending: 'exited' }]);
});

test('a new kind whose plan fails closes its sandbox, and leaves nothing', async () => {
  const home = newHome();
  const handles: { closed: number; readonly leftovers: unknown }[] = [];
  const watched: typeof launcher = {
    ...launcher,
    open: async job => {
      const handle = await launcher.open(job);
      const record = { closed: 0, leftovers: handle.leftovers };
      handles.push(record);
      return {
        ...handle,
        close: () => {
          record.closed++;
          return handle.close();
        },
      };
    },
  };
  const fail = (step: string): void => {
    if (step === 'plan') throw new Error('a bug');
  };
  const context = { launcher: watched, home, signer: undefined, ledger: ledgerOf(home) };
  await expect(runToy(COMMAND, context, fail)).rejects.toThrow('a bug');
  // The self-test of the sandbox may open another one.
  expect(handles.length).toBeGreaterThan(0);
  expect(handles.map(({ closed }) => closed > 0)).not.toContain(false);
  expect(runsIn(home)).toEqual([]);
});

const UNSEEN = ['ending', 'usage', 'streams', 'output'];

test.each<[Stop, object[]]>([
  ['prepare', []],
  ['plan', []],
  ['begin', [{ verdict: 'interrupted', ending: 'lost', recovered: { unknown: [] } }]],
  ['watch', [{ verdict: 'interrupted', ending: 'lost', recovered: { unknown: UNSEEN } }]],
  ['judge', [{ verdict: 'interrupted', ending: 'exited', recovered: { unknown: ['output'] } }]],
  ['documents', [{ verdict: 'interrupted', ending: 'exited', recovered: { unknown: [] } }]],
  ['ledger', [{ verdict: 'good', ending: 'exited' }]],
])('a new kind whose process is killed at the step "%s" is recovered', async (stopAt, told) => {
  const home = newHome();
  const { said, kill, ended } = started(home, stopAt);
  await until(`the run is at its step ${stopAt}`, () => said() === `${stopAt}\n`);
  expect(await recover(home)).toMatchObject(told.map(() => ({ became: 'alive' })));
  kill();
  await ended;
  expect(await recover(home)).toMatchObject(told.map(() => ({ became: stopAt === 'ledger' ? 'sealed' : 'recovered' })));
  expect(await expectWhole(home)).toMatchObject(told);
  expect(await recover(home)).toEqual([]);
});

test('a new kind whose process is killed at any moment is recovered, or leaves nothing', async () => {
  const home = newHome();
  for (let kills = 0; kills < KILLS; kills++) {
    const { kill, ended } = started(home, 'never');
    await wait((kills / KILLS) * usualMs);
    kill();
    await ended;
  }
  await recover(home);
  for (const toy of await expectWhole(home)) expect(['good', 'interrupted']).toContain(toy?.verdict);
});

const KILLS = 12;
