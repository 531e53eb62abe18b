import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { RunResult } from '../../src/contracts/run-result/index.ts';
import type { IntentOutcome } from '../../src/contracts/intent/index.ts';
import { SEAL } from '../../src/evidence/run-folder/finish.ts';
import { strictTroubles, writes } from '../run/intent/world.ts';
import {
  cgroupsOfOurs,
  endProcess,
  groupsLeft,
  mountsOfOurs,
  Place,
  processesWith,
  smallHome,
  until,
} from '../support/runs.ts';

const KILLS = Number(process.env['PROCTOR_KILLS'] ?? 60);
const AT_ONCE = 3;
const EXECUTE = ['--mode', 'execute-sandbox', '--policy', 'strict'];

/** Two slow commands with inputs and output. */
const intentFor = (marker: string): string =>
  JSON.stringify({
    goal: 'Be killed',
    files: [{ path: 'src/a', content: 'a' }],
    commands: [
      {
        argv: [
          ...writes(
            `for (let at = 0; at < 100; at++) fs.writeFileSync('out/' + at, 'x'.repeat(at * 100)); console.log('one')`,
          ).argv,
          marker,
        ],
      },
      { argv: [...writes(`setTimeout(() => console.log('two'), 150)`).argv, marker] },
    ],
    outputs: ['out/'],
    accept: [{ check: 'content_matches', path: 'out/1', pattern: 'x' }],
  });

let warm: Place;
let usualMs = 1_000;
let markers = 0;
const before = { groups: new Set<string>(), mounts: [] as string[] };
const told = new Map<string, number>();

beforeAll(async () => {
  before.groups = new Set(cgroupsOfOurs());
  before.mounts = mountsOfOurs();
  warm = new Place();
  warm.file('intent.json', intentFor('warm'));
  await warm.start(['run', 'intent', 'intent.json', ...EXECUTE]).ended;
  const began = performance.now();
  const all = Array.from({ length: AT_ONCE }, () => warm.start(['run', 'intent', 'intent.json', ...EXECUTE]).ended);
  for (const { code, stderr } of await Promise.all(all)) expect(code, stderr).toBe(0);
  usualMs = performance.now() - began;
});

afterAll(() => {
  warm.remove();
  process.stdout.write(
    `usual run ${Math.round(usualMs)} ms\n${[...told]
      .map(([what, times]) => `  ${what}: ${times}\n`)
      .sort()
      .join('')}`,
  );
});

const resultIn = (folder: string): RunResult =>
  JSON.parse(readFileSync(path.join(folder, 'run.json'), 'utf8')) as RunResult;

const outcomeOf = (folder: string): IntentOutcome =>
  JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8')) as IntentOutcome;

describe('recovery of killed intent runs', () => {
  test(`leaves correct evidence or nothing, after ${KILLS} kills at any moment`, async () => {
    for (let round = 0; round < KILLS / AT_ONCE; round++) {
      const place = new Place();
      try {
        cpSync(path.join(warm.cwd, '.proctor/cache'), path.join(place.cwd, '.proctor/cache'), { recursive: true });
        const runs = Array.from({ length: AT_ONCE }, (_, at) => {
          const marker = `intent-${process.pid}-${++markers}`;
          const name = `${marker}.json`;
          place.file(name, intentFor(marker));
          return { marker, at, started: place.start(['run', 'intent', name, ...EXECUTE]) };
        });
        await Promise.all(
          runs.map(async ({ started, at }) => {
            await wait(((round * AT_ONCE + at) / KILLS) * usualMs * 1.1);
            const launcher = at === 2 ? started.launcher() : undefined;
            started.kill('SIGKILL');
            if (launcher !== undefined) endProcess(launcher);
            await started.ended;
          }),
        );
        await expectTruth(place);
        const isOver = (): boolean => runs.every(({ marker }) => processesWith(marker).length === 0);
        await until('all processes of the runs are gone', isOver);
      } finally {
        place.remove();
      }
    }
    expect(told.get('interrupted') ?? 0).toBeGreaterThan(0);
    await until('no control group is left', () => groupsLeft(before.groups).length === 0);
    expect(mountsOfOurs()).toEqual(before.mounts);
  });

  /** Only a run sealed before the kill is accepted; every other one reports the interruption. */
  async function expectTruth(place: Place): Promise<void> {
    const wasSealed = new Map(place.runFolders().map(folder => [folder, existsSync(path.join(folder, SEAL))]));
    const { code, stdout, stderr } = place.proctor(['recover']);
    expect(code, stdout + stderr).toBe(0);
    for (const [folder, isSealed] of wasSealed) {
      if (!existsSync(folder)) {
        expect(isSealed).toBe(false);
        count('removed');
        continue;
      }
      expect(await strictTroubles(folder)).toEqual([]);
      const { decision, execution, started_at, completed_at } = resultIn(folder);
      expect(decision.accepted).toBe(isSealed);
      expect(outcomeOf(folder).recovered !== undefined).toBe(!isSealed);
      count(isSealed ? 'sealed' : 'interrupted');
      if (isSealed) continue;
      expect([execution, existsSync(path.join(folder, 'output'))]).toEqual([null, false]);
      expect(Date.parse(completed_at) - Date.parse(started_at)).toBeLessThan(Date.now() - Date.parse(started_at));
    }
    expect(readdirSync(place.temp)).toEqual([]);
  }
});

const count = (what: string): void => void told.set(what, (told.get(what) ?? 0) + 1);

describe('a full disk', () => {
  test.for([8, 24, 40, 64, 96])(
    'of %i KiB causes an error without a result, or a correct result',
    async (kib, context) => {
      const place = new Place();
      onTestFinished(() => place.remove());
      const disk = smallHome(context, place, kib);
      place.file('intent.json', intentFor('full'));
      const { code, stdout, stderr } = await place.start(['run', 'intent', 'intent.json', ...EXECUTE]).ended;
      expect(code, stderr).toBe(2);
      expect(JSON.parse(stdout)).toMatchObject({ code: expect.stringMatching(/^RUN_E00[57]$/) as never });
      expect(stderr).not.toMatch(/ENOSPC|\n\s+at /);
      disk.grow();
      const recovered = place.proctor(['recover']);
      expect(recovered.code, recovered.stderr).toBe(0);
      for (const folder of place.runFolders()) {
        expect(await strictTroubles(folder)).toEqual([]);
        expect(resultIn(folder).decision.accepted).toBe(false);
      }
      expect(readdirSync(place.temp)).toEqual([]);
    },
  );
});
