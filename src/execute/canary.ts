import { createServer, type ListenOptions, type Server } from 'node:net';
import { statSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../base/atomic.ts';
import { Fault } from '../base/fault.ts';
import { contentHash } from '../base/hash.ts';
import { isMineAlone } from '../base/owner.ts';
import { makeFolders } from '../base/private.ts';
import { readRegular } from '../base/regular.ts';
import { openDoorFolder } from './door-folder.ts';
import { NOT_STARTING } from './cell.ts';
import { bootId } from './machine.ts';
import type { Job } from './job.ts';
import type { Launcher } from './launch.ts';
import { findProgram } from './programs.ts';
import { DOOR, rootFor } from './sandboxes/root.ts';
import { filterFor } from './sandboxes/seccomp.ts';
import { makeStage, removeStage } from './workspace.ts';

/** What was tried inside a sandbox, and whether the sandbox held. */
export interface Observation {
  readonly what: 'network' | 'file_system' | 'environment' | 'privileges';
  readonly held: boolean;
  readonly note: string;
}

/**
 * Tries from inside the same sandbox what the job's program must not be able to do. The answer holds for this sandbox
 * until the machine starts again, so it is remembered.
 */
export async function observe(launcher: Launcher, job: Job, rememberIn?: string): Promise<readonly Observation[]> {
  const file = rememberIn && path.join(rememberIn, `canary-${digestOf(job).slice('sha256:'.length, 23)}.json`);
  const remembered = file === undefined ? undefined : rememberedIn(file, job);
  if (remembered) return remembered;
  const observations = await tryOut(launcher, job);
  const broken = observations.filter(({ held }) => !held);
  if (broken.length > 0) {
    const names = broken.map(({ what }) => what.replace('_', ' ')).join(', ');
    throw new Fault('sandbox_leaks', `The sandbox does not hold on this machine: ${names}. proctor doctor says more.`);
  }
  if (file !== undefined && rememberIn !== undefined) remember(rememberIn, file, observations);
  return observations;
}

/** A memory that somebody else could have written, or that tells of anything but a sandbox that held, is none. */
function rememberedIn(file: string, job: Job): Observation[] | undefined {
  const tried = triedIn(job);
  if (readRegular(file, MEMORY_BYTES_MAX, isMineAlone)?.toString() !== JSON.stringify(tried)) return undefined;
  return tried.map(what => ({ what, held: true, note: noteOf(what, job) }));
}

const MEMORY_BYTES_MAX = 1_000;

/** Only what held; what was tried is known. */
function remember(folder: string, file: string, observations: readonly Observation[]): void {
  try {
    makeFolders(folder);
    writeAtomic(file, JSON.stringify(observations.map(({ what }) => what)));
  } catch {
    // The next run tries again. Whether there is a place for the evidence is judged where that is made.
  }
}

type Tried = Observation['what'];

/** A network that is open need not be tried. */
function triedIn({ network }: Job): readonly Tried[] {
  return [...(network === 'blocked' ? (['network'] as const) : []), 'file_system', 'environment', 'privileges'];
}

const NOTES: Readonly<Record<Observation['what'], string>> = {
  network: 'A connection to a server on this machine was refused.',
  file_system: 'Writes outside the work folder failed, and folders of this machine are not there.',
  environment: 'No process inside shows a variable of a process outside.',
  privileges: 'No capability, no new privileges, a system call filter, not the root user.',
};

function noteOf(what: Tried, { writeRoots }: Job): string {
  return what === 'file_system' && writeRoots && !writeRoots.includes('.') ? NOTE_OF_ROOTS : NOTES[what];
}

const NOTE_OF_ROOTS =
  'Writes outside the places that may be written to failed, and folders of this machine are not there.';

/** Where the canary may write. One place is as good as another; that there are bounds at all makes the difference. */
function rootsLike({ writeRoots }: Job): Pick<Job, 'writeRoots'> {
  if (!writeRoots || writeRoots.length === 0) return { ...(writeRoots && { writeRoots }) };
  return { writeRoots: writeRoots.includes('.') ? ['.'] : ['roots/one'] };
}

/** A job in the same sandbox as another, in a stage of its own. What is shown in it there is something else, in the same way. */
function alikeIn(stage: string, job: Job): Job {
  const { then: _, stdin: __, startIn: ___, keepTree: ____, readOnly: _____, mounts, ...rest } = job;
  const shown = mounts && mounts.length > 0 ? [{ source: path.join(stage, 'opt'), target: SHOWN }] : [];
  return { ...rest, ...rootsLike(job), stage, staged: ['input'], ...(mounts && { mounts: shown }) };
}

const SHOWN = '/agent/shown';

/** Where the canary must not be able to write, besides what is so for everybody. */
function readOnlyIn({ writeRoots, home, mounts, door }: Job): string[] {
  return [
    ...(writeRoots && !writeRoots.includes('.') ? ['/work', '/work/input'] : []),
    ...(writeRoots?.includes('roots/one') ? ['/work/roots'] : []),
    ...(home || mounts?.length || door ? ['/agent'] : []),
    ...(mounts?.length ? [SHOWN] : []),
    ...(door ? [DOOR] : []),
  ];
}

/** All that makes two sandboxes the same, but for the files that lie in them. */
function digestOf(job: Job): string {
  // Which programs there are is in their names; what they load is looked up by the launcher alone.
  const { programs, ...rest } = job;
  const alike = { ...alikeIn('/stage', rest), env: {} };
  const { size, mtimeMs } = statSync('/usr/bin/bwrap');
  return contentHash([
    rootFor(alike, '/disk'),
    programs ?? [],
    filterFor(job)?.toString('hex') ?? '',
    size,
    Math.round(mtimeMs),
    bootId(),
    TRIALS,
  ]);
}

async function tryOut(launcher: Launcher, job: Job): Promise<Observation[]> {
  const bash = findProgram('bash');
  if (bash === undefined)
    throw new Fault('canary_missing', 'The sandbox cannot be tried out here: bash is not installed.');
  const server = await listening({ port: 0, host: '127.0.0.1' });
  const id = `${job.id}-canary`;
  const stage = makeStage(id);
  const folder = job.door && openDoorFolder(stage);
  let door: Server | undefined;
  try {
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const alike = alikeIn(stage, job);
    if (folder) door = await listening({ path: folder.address });
    const prepared = await launcher.open({
      ...alike,
      id,
      argv: [bash, '-c', TRIALS, 'canary', String(port), stage, readOnlyIn(alike).join(' ')],
      ...(job.programs && { programs: [...job.programs, 'bash'] }),
      env: { PATH: '/usr/bin:/bin' },
      limits: { ...job.limits, timeoutMs: 10_000 },
      secrets: [],
      live: false,
    });
    try {
      const { ending, stdout, stderr } = await prepared.start();
      if (ending.how !== 'exited' || ending.code !== 0) {
        throw new Fault('sandbox_unavailable', NOT_STARTING, { cause: Buffer.from(stderr.head).toString() });
      }
      const said = new Set(Buffer.from(stdout.head).toString().split('\n'));
      return triedIn(job).map(what => ({ what, held: said.has(`${what} held`), note: noteOf(what, job) }));
    } finally {
      await prepared.close();
    }
  } finally {
    server.close();
    door?.close();
    folder?.close();
    removeStage(stage);
  }
}

/** A server that answers nobody. */
async function listening(place: ListenOptions): Promise<Server> {
  const server = createServer(socket => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause =>
      reject(new Fault('stage_failed', 'No server could be started to try the sandbox with.', { cause })),
    );
    server.listen(place, resolve);
  });
  return server;
}

/** For bash, of which nothing but builtins is used. Arguments: a port of this machine, a folder of it, what is read-only of the work folder. */
const TRIALS = `
(exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null || echo network held
files=held
for place in / /usr /etc /opt /dev /proc/sys/kernel $3; do (: > $place/proctor-canary) 2>/dev/null && files=broken; done
for place in "$2" /root /home /var /sys /run; do [ -e "$place" ] && files=broken; done
(: > /proc/sys/kernel/core_pattern) 2>/dev/null && files=broken
for place in /proc/cmdline /proc/interrupts /proc/sys/kernel/random/boot_id /proc/1/mem; do (: < $place) 2>/dev/null && files=broken; done
echo file_system $files
environment=held
for process in /proc/[0-9]*; do
  while IFS= read -r -d '' variable; do
    case $variable in PATH=/usr/bin:/bin|PWD=*|SHLVL=*|_=*|OLDPWD=*) ;; *) environment=broken ;; esac
  done 2>/dev/null < $process/environ
done
echo environment $environment
privileges=held
while read -r key value rest; do
  case $key in
    CapEff:|CapPrm:|CapBnd:|CapAmb:) [[ $value =~ ^0+$ ]] || privileges=broken ;;
    NoNewPrivs:) [ "$value" = 1 ] || privileges=broken ;;
    Seccomp:) [ "$value" = 2 ] || privileges=broken ;;
    Uid:) [ "$value" != 0 ] || privileges=broken ;;
  esac
done < /proc/self/status
echo privileges $privileges
`;
