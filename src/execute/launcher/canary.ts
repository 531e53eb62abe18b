import { createServer, type ListenOptions, type Server } from 'node:net';
import { statSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { Fault } from '../../base/fault.ts';
import { contentHash } from '../../base/hash.ts';
import { isMineAlone } from '../../base/owner.ts';
import { makeFolders } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import { openDoorFolder } from '../model/door-folder.ts';
import { NOT_STARTING } from '../job/sandbox-instance.ts';
import { bootId } from '../host/machine.ts';
import type { Job, JobLimits } from '../job/job.ts';
import type { Launcher } from './launch.ts';
import { runtimesOf } from '../sandboxes/runtimes.ts';
import { findProgram } from '../host/programs.ts';
import { DOOR, rootFor } from '../sandboxes/root.ts';
import { filterFor } from '../sandboxes/seccomp.ts';
import { makeStage, removeStage } from '../host/workspace.ts';

/** What Proctor tried inside a sandbox, and whether the sandbox prevented it. */
export interface Observation {
  readonly what: 'network' | 'file_system' | 'environment' | 'privileges';
  readonly held: boolean;
  readonly note: string;
}

/** Tries to break out of a sandbox like the job's. The result is cached until the machine reboots. */
export async function observe(launcher: Launcher, job: Job, rememberIn?: string): Promise<readonly Observation[]> {
  const file = rememberIn && path.join(rememberIn, `canary-${digestOf(job).slice('sha256:'.length, 23)}.json`);
  const remembered = file === undefined ? undefined : rememberedIn(file, job);
  if (remembered) return remembered;
  const observations = await tryOut(launcher, job);
  const broken = observations.filter(({ held }) => !held);
  if (broken.length > 0) {
    const names = broken.map(({ what }) => what.replace('_', ' ')).join(', ');
    throw new Fault(
      'sandbox_leaks',
      `The sandbox does not isolate programs on this machine: ${names}. Run \`proctor doctor\`.`,
    );
  }
  if (file !== undefined && rememberIn !== undefined) remember(rememberIn, file, observations);
  return observations;
}

/** Ignores a cache file that another user could have written, or that does not record a successful check. */
function rememberedIn(file: string, job: Job): Observation[] | undefined {
  const tried = triedIn(job);
  if (readRegular(file, MEMORY_BYTES_MAX, isMineAlone)?.toString() !== JSON.stringify(tried)) return undefined;
  return tried.map(what => ({ what, held: true, note: noteOf(what, job) }));
}

const MEMORY_BYTES_MAX = 1_000;

/** Caches only success. */
function remember(folder: string, file: string, observations: readonly Observation[]): void {
  try {
    makeFolders(folder);
    writeAtomic(file, JSON.stringify(observations.map(({ what }) => what)));
  } catch {
    // The next run tries again. Proctor checks elsewhere whether it can write evidence.
  }
}

type Tried = Observation['what'];

/** An open network is not tested. */
function triedIn({ network }: Job): readonly Tried[] {
  return [...(network === 'blocked' ? (['network'] as const) : []), 'file_system', 'environment', 'privileges'];
}

const NOTES: Readonly<Record<Observation['what'], string>> = {
  network: 'A connection to a server on this machine was refused.',
  file_system: "Writes outside the work folder failed, and this machine's folders are not visible.",
  environment: 'No process in the sandbox has an environment variable from outside.',
  privileges: 'No capabilities, no new privileges, a system call filter, not root.',
};

function noteOf(what: Tried, { writeRoots }: Job): string {
  return what === 'file_system' && writeRoots && !writeRoots.includes('.') ? NOTE_OF_ROOTS : NOTES[what];
}

const NOTE_OF_ROOTS = "Writes outside the writable paths failed, and this machine's folders are not visible.";

/** Where the canary may write. Only the kind of restriction matters, not the actual paths. */
function rootsLike({ writeRoots }: Job): Pick<Job, 'writeRoots'> {
  if (!writeRoots || writeRoots.length === 0) return { ...(writeRoots && { writeRoots }) };
  return { writeRoots: writeRoots.includes('.') ? ['.'] : ['roots/one'] };
}

/** A job with the same kind of sandbox, but with its own stage and placeholder mounts. */
function alikeIn(stage: string, job: Job): Job {
  const { then: _, stdin: __, startIn: ___, keepTree: ____, readOnly: _____, mounts, ...rest } = job;
  const shown = mounts && mounts.length > 0 ? [{ source: path.join(stage, 'opt'), target: SHOWN }] : [];
  return { ...rest, ...rootsLike(job), stage, staged: ['input'], limits: LIMITS, ...(mounts && { mounts: shown }) };
}

const SHOWN = '/agent/shown';

/** Enough for the canary. Under the limits of the job, such as one process, it could fail on a machine that is fine. */
const LIMITS: JobLimits = {
  timeoutMs: 10_000,
  memoryBytes: 256 * 1024 ** 2,
  pids: 256,
  openFiles: 1_024,
  workBytes: 16 * 1024 ** 2,
  workEntries: 256,
  keep: { stdout: { headBytes: 4_096, tailBytes: 0 }, stderr: { headBytes: 4_096, tailBytes: 0 } },
  graceMs: 2_000,
};

/** Further folders in which a write by the canary must fail. */
function readOnlyIn({ writeRoots, home, mounts, door }: Job): string[] {
  return [
    ...(writeRoots && !writeRoots.includes('.') ? ['/work', '/work/input'] : []),
    ...(writeRoots?.includes('roots/one') ? ['/work/roots'] : []),
    ...(home || mounts?.length || door ? ['/agent'] : []),
    ...(mounts?.length ? [SHOWN] : []),
    ...(door ? [DOOR] : []),
  ];
}

/** A digest of everything that defines a sandbox, except the files inside. */
function digestOf(job: Job): string {
  // Program names suffice. Only the launcher looks up what they load.
  const { programs, ...rest } = job;
  const alike = { ...alikeIn('/stage', rest), env: {} };
  const { size, mtimeMs } = statSync('/usr/bin/bwrap');
  return contentHash([
    rootFor(alike, '/disk'),
    programs ?? [],
    runtimesOf(job),
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
    throw new Fault('canary_missing', 'Cannot test the sandbox: bash is not installed. Install bash.');
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
      argv: [bash, '-c', TRIALS, 'canary', String(port), stage, readOnlyIn(alike).join(' '), ...runtimesOf(alike)],
      ...(job.programs && { programs: [...job.programs, 'bash'] }),
      env: { PATH: '/usr/bin:/bin' },
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

/** Starts a server that closes every connection. */
async function listening(place: ListenOptions): Promise<Server> {
  const server = createServer(socket => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause =>
      reject(new Fault('stage_failed', 'Cannot start a local server to test the sandbox.', { cause })),
    );
    server.listen(place, resolve);
  });
  return server;
}

/**
 * A bash script that uses only builtins. Arguments: a port, a folder on this machine, and further read-only folders.
 */
const TRIALS = `
(exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null || echo network held
files=held
for place in / /usr /etc /opt /dev /proc/sys/kernel $3; do (: > $place/proctor-canary) 2>/dev/null && files=broken; done
shopt -s dotglob nullglob
shown=("\${@:4}")
leads() { local one; for one in "\${shown[@]}"; do [[ $one == "$1" || $one == "$1"/* ]] && return 0; done; return 1; }
is_shown() { local one; for one in "\${shown[@]}"; do [ "$one" = "$1" ] && return 0; done; return 1; }
hides_rest() {
  local inner
  [ -e "$1" ] || return 0
  leads "$1" || return 1
  is_shown "$1" && return 0
  for inner in "$1"/*; do hides_rest "$inner" || return 1; done
}
for place in "$2" /root /home /var /sys /run; do hides_rest "$place" || files=broken; done
for place in "\${shown[@]}"; do
  if [ -d "$place" ]; then place=$place/proctor-canary; fi
  (: >> "$place") 2>/dev/null && files=broken
done
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
