import { cpSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idsIn } from '../evidence/ledger/ledger-world.ts';
import { randomFrom, SEED } from '../support/random.ts';
import {
  cgroupsOfOurs,
  endProcess,
  groupsLeft,
  mountsOfOurs,
  outcomeIn,
  pause,
  Place,
  processesWith,
  type Started,
  takeAllPlaces,
  until,
} from '../support/runs.ts';

const RUNS = Number(process.env['PROCTOR_KILLS'] ?? 200);
const AT_ONCE = 4;
const chance = randomFrom(SEED);
const oneOf = <Value>(values: readonly Value[]): Value => values[Math.floor(chance() * values.length)] as Value;

const SUCCESS = `printf '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json`;

const SCRIPTS: Record<string, string> = {
  'quick.sh': SUCCESS,
  'files.sh': `i=0\nwhile [ $i -lt 200 ]; do echo $i > output/$i.txt; i=$((i+1)); done\n${SUCCESS}`,
  'loud.py': `import proctor_tool\nfor i in range(40_000): print(i, 'a line of some length, so that it is a lot in the end')\nproctor_tool.succeed()`,
  'daemon.py': `import os, signal, sys, time, proctor_tool
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    time.sleep(600)
time.sleep(0.4)
proctor_tool.succeed()`,
};

/** Proctor runs longer than its script, so some kills hit its start or end. */
type Target = 'harness' | 'harness of a script' | 'launcher' | 'script' | 'harness and launcher';

interface Run {
  readonly started: Started;
  readonly target: Target;
  readonly script: string;
  readonly marker: string;
  readonly delayMs: number;
  /** Whether the process was alive when it was killed. */
  hasKilled: boolean;
}

const told = { killed: 0, missed: 0, statuses: new Map<string, number>() };
const before = { groups: new Set<string>(), mounts: [] as string[] };
let warm: Place;
let usualMs = 1_000;
/** The latest kill in milliseconds, by target. */
let within: Record<Target, number>;
let markers = 0;

beforeAll(async () => {
  before.groups = new Set(cgroupsOfOurs());
  before.mounts = mountsOfOurs();
  warm = new Place();
  furnish(warm);
  // Measures a run in parallel with others. The first run fills the sandbox cache.
  await warm.start(['run', 'script', 'quick.sh']).ended;
  const began = performance.now();
  const names = Object.keys(SCRIPTS);
  const all = names.map(name => warm.start(['run', 'script', name]).ended);
  for (const ran of await Promise.all(all)) expect(ran.code, ran.stderr).toBe(0);
  usualMs = performance.now() - began;
  within = {
    harness: usualMs,
    'harness of a script': 40,
    launcher: usualMs,
    script: 40,
    'harness and launcher': usualMs,
  };
});

afterAll(() => {
  warm.remove();
  const statuses = [...told.statuses].map(([status, count]) => `${status}: ${count}`).sort();
  process.stdout.write(
    `seed ${SEED}, usual run ${Math.round(usualMs)} ms, ${told.killed} killed, ${told.missed} came too late\n  ${statuses.join('\n  ')}\n`,
  );
});

describe(`killed runs (seed ${SEED})`, () => {
  test(`leave evidence and nothing else, after ${RUNS} kills at any moment`, async () => {
    const targets: Target[] = ['harness', 'harness of a script', 'launcher', 'script'];
    for (let batch = 0; batch < RUNS / AT_ONCE; batch++) {
      await killed(batch % 2 === 0, () => oneOf(targets));
    }
    expect(told.killed).toBeGreaterThan(RUNS / 3);
    expect(told.statuses.get('folder: failed interrupted lost') ?? 0).toBeGreaterThan(0);
  });

  test('leave nothing else after recover if Proctor and its launcher die at the same instant', async () => {
    for (let batch = 0; batch < 4; batch++) await killed(batch % 2 === 0, () => 'harness and launcher');
  });
});

describe('a termination signal', () => {
  const marker = `slow-${process.pid}`;
  const SLOW = `import proctor_tool, time\nprint('begun', flush=True)\ntime.sleep(60)\nproctor_tool.succeed()`;
  const STUBBORN = `import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n${SLOW}`;

  test.each([
    ['SIGINT', 130, SLOW, 1],
    ['SIGTERM', 143, SLOW, 1],
    ['SIGHUP', 129, SLOW, 1],
    ['SIGINT', 130, STUBBORN, 1],
    ['SIGINT', 130, STUBBORN, 3],
  ] as const)('such as %s ends the run, is recorded, and gives exit code %i', async (name, code, text, times) => {
    const place = new Place();
    try {
      place.file('slow.py', text);
      const started = place.start(['run', 'script', 'slow.py', '--', marker]);
      await until('the script has begun', () => started.stdout.includes('begun'));
      for (let time = 0; time < times; time++) {
        started.kill(name);
        await wait(50);
      }
      expect((await started.ended).code).toBe(code);
      place.expectClean();
      expect(place.runFolders().map(outcomeIn)).toMatchObject([
        { status: 'failed', reason: 'cancelled', ending: { how: 'killed', by: 'cancel' } },
      ]);
      expect(processesWith(marker)).toEqual([]);
      await until('no control group is left', isSwept);
    } finally {
      place.remove();
    }
  });

  test('ends a run that waits for a slot at once, and leaves nothing', async () => {
    const place = new Place();
    const free = await takeAllPlaces();
    try {
      place.file('slow.py', SLOW);
      const waiting = place.start(['run', 'script', 'slow.py']);
      await until('it reports that it waits', () => waiting.stderr.includes('waiting: '));
      waiting.kill('SIGINT');
      const { code, stderr } = await waiting.ended;
      expect(code).toBe(130);
      expect(stderr).toContain('error: The run was cancelled before it started.\n');
      expect(place.runFolders()).toEqual([]);
      place.expectClean();
      await until('no control group is left', isSwept);
    } finally {
      free();
      place.remove();
    }
  });

  test('before the script starts leaves nothing, or evidence of a cancelled run', async () => {
    for (let time = 0; time < 16; time++) {
      const place = new Place();
      try {
        place.file('slow.py', SLOW);
        const started = place.start(['run', 'script', 'slow.py', '--', marker]);
        await wait((time / 16) * usualMs);
        started.kill('SIGINT');
        const { code, signal, stderr } = await started.ended;
        // Before Proctor installs a handler, the kernel ends it.
        if (signal === null) expect(code, stderr).toBe(130);
        place.expectClean();
        for (const folder of place.runFolders()) expect(outcomeIn(folder)).toMatchObject({ reason: 'cancelled' });
        expect(processesWith(marker)).toEqual([]);
        await until('no control group is left', isSwept);
      } finally {
        place.remove();
      }
    }
  });
});

/** Starts runs in a new project, kills each at its moment, then checks everything. */
async function killed(isWarm: boolean, targetOf: () => Target): Promise<void> {
  const place = new Place();
  try {
    furnish(place);
    if (isWarm)
      cpSync(path.join(warm.cwd, '.proctor', 'cache'), path.join(place.cwd, '.proctor', 'cache'), { recursive: true });
    const runs = Array.from({ length: AT_ONCE }, () => begin(place, targetOf()));
    await Promise.all(runs.map(kill));
    const ended = await Promise.all(runs.map(({ started }) => started.ended));
    // Adapts to the load of the machine. Some kills must come too late, to cover the end of a run.
    for (const { target, hasKilled } of runs) within[target] *= hasKilled ? 1.06 : 0.85;
    for (const [index, run] of runs.entries()) expectEnd(run, ended[index] as Awaited<Started['ended']>);
    await expectNothingLeft(place, runs);
  } catch (error) {
    throw new Error(`with seed ${SEED}: ${String(error)}`, { cause: error });
  } finally {
    place.remove();
  }
}

function furnish(place: Place): void {
  for (const [name, text] of Object.entries(SCRIPTS)) place.file(name, text);
}

function begin(place: Place, target: Target): Run {
  const marker = `marker-${process.pid}-${++markers}`;
  const script = oneOf(Object.keys(SCRIPTS));
  // Counts from the start of the process. A script is much shorter-lived than its Proctor process.
  const delayMs = chance() * (target.endsWith('script') && script === 'daemon.py' ? 450 : within[target]);
  const flags = chance() < 0.2 ? ['--sandbox', 'none'] : [];
  const started = place.start(['run', 'script', script, '--json', ...flags, '--', marker]);
  return { started, target, script, marker, delayMs, hasKilled: false };
}

async function kill(run: Run): Promise<void> {
  const { started, target, marker, delayMs } = run;
  if (target.endsWith('script')) {
    for (let pid = scriptOf(marker); !started.isOver; pid = scriptOf(marker)) {
      if (pid !== undefined) {
        await wait(delayMs);
        run.hasKilled = scriptOf(marker) === pid && endProcess(target === 'script' ? pid : started.pid);
        break;
      }
      await pause(5);
    }
  } else {
    if (target === 'launcher') while (started.launcher() === undefined && !started.isOver) await pause(5);
    await wait(delayMs);
    const pid = started.launcher();
    if (target === 'launcher') run.hasKilled = pid !== undefined && endProcess(pid);
    else {
      run.hasKilled = !started.isOver;
      started.kill('SIGKILL');
      if (target === 'harness and launcher' && pid !== undefined) endProcess(pid);
    }
  }
  if (run.hasKilled) told.killed++;
  else told.missed++;
}

/** The script itself: the child of bubblewrap or, without a sandbox, of the launcher. */
function scriptOf(marker: string): number | undefined {
  const marked = processesWith(marker);
  const wrappers = new Set(marked.filter(({ argv }) => argv[0]?.endsWith('bwrap')).map(({ pid }) => pid));
  const others = new Set(marked.map(({ pid }) => pid).filter(pid => !wrappers.has(pid)));
  const isHarness = (argv: readonly string[]): boolean => argv.some(word => word.endsWith('proctor.js'));
  return marked.find(({ pid, ppid, argv }) => others.has(pid) && !others.has(ppid) && !isHarness(argv))?.pid;
}

/** Checks the exit code, if the command lived long enough to return one. */
function expectEnd(run: Run, { code, signal, stdout, stderr }: Awaited<Started['ended']>): void {
  const { target, script, hasKilled, delayMs } = run;
  const said = `${target} of ${script} after ${Math.round(delayMs)} ms: exit ${code} ${signal}\n${stdout}\n${stderr.slice(-500)}`;
  const key = `${target} ${hasKilled ? 'killed' : 'missed'}: exit ${code ?? signal}`;
  told.statuses.set(key, (told.statuses.get(key) ?? 0) + 1);
  if (!hasKilled) expect(code, said).toBe(0);
  else if (target === 'launcher') {
    // Proctor reports the failure as its own.
    expect([0, 2], said).toContain(code);
    if (code === 2) expect(stderr, said).toMatch(FAULT);
  } else if (target === 'script') {
    // A Proctor process that had already reported its result may have succeeded.
    expect([0, 1], said).toContain(code);
    expect(JSON.parse(stdout).status, said).toBe(code === 0 ? 'succeeded' : 'failed');
  }
}

/** Either process may notice first. */
const FAULT =
  /error: (?:The launcher process died|The sandbox died|The run's files could not|The run's result could not|The output could not)/;

const REASONS = [
  'interrupted',
  'launcher_lost',
  'sandbox_lost',
  'ingest_io',
  'result_missing',
  'exit_code',
  'killed_by_signal',
];

const isSwept = (): boolean => groupsLeft(before.groups).length === 0;

async function expectNothingLeft(place: Place, runs: readonly Run[]): Promise<void> {
  const isOver = (): boolean => runs.every(({ marker }) => processesWith(marker).length === 0);
  // The survivor cleans up; if both died, recover does.
  if (runs.every(({ target }) => target !== 'harness and launcher')) {
    await until('all processes of the runs are gone', isOver);
    await until('no control group is left', isSwept);
  }
  const launcherless = runs.every(({ target }) => target === 'script' || target === 'launcher');
  if (launcherless) place.expectClean();
  const { code, stdout, stderr } = place.proctor(['recover']);
  expect(code, stdout + stderr).toBe(0);
  await until('all processes of the runs are gone', isOver);
  place.expectClean();
  const folders = place.runFolders();
  if (folders.length > 0) {
    const ledger = place.proctor(['verify', '.proctor/ledger.ndjson']);
    expect(ledger.code, ledger.stdout).toBe(0);
    expect(idsIn(path.join(place.cwd, '.proctor')).sort()).toEqual(folders.map(folder => path.basename(folder)).sort());
  }
  for (const folder of folders) {
    const { status, reason, ending } = outcomeIn(folder);
    const key = `folder: ${status} ${reason} ${ending.how}`;
    told.statuses.set(key, (told.statuses.get(key) ?? 0) + 1);
    if (status !== 'succeeded') expect(REASONS).toContain(reason);
  }
  await until('no control group is left', isSwept).catch(() => expect(groupsLeft(before.groups)).toEqual([]));
  expect(mountsOfOurs()).toEqual(before.mounts);
  expect(readdirSync(place.temp)).toEqual([]);
}
