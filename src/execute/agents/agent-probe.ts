import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { Fault } from '../../base/fault.ts';
import { type ContentHash, contentHash } from '../../base/hash.ts';
import { AGENT_PATH, type AgentProgram } from './agent-program.ts';
import type { Job } from '../job/job.ts';
import type { Launcher } from '../launcher/launch.ts';
import { bootId } from '../host/machine.ts';
import { Memory } from '../host/cache.ts';
import { reachable } from '../sandboxes/mounts.ts';
import { HOME } from '../sandboxes/root.ts';
import { makeStage, removeStage } from '../host/workspace.ts';

/** The output of `--version`, at most 4 KiB. */
export async function probeVersion(launcher: Launcher, program: AgentProgram, rememberIn?: string): Promise<string> {
  const { code, stdout } = await probe(launcher, program, ['--version'], rememberIn);
  if (code === 0) return stdout;
  throw new Fault('agent_unusable', `Cannot read the version of ${program.name}: it failed in the sandbox.`);
}

/** The result of a probe. `code` is undefined if the program could not start or was killed. */
export interface Probed {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program in a sandbox without a network. The result is cached until the machine reboots or the program changes.
 */
export async function probe(
  launcher: Launcher,
  program: AgentProgram,
  args: readonly string[],
  rememberIn?: string,
): Promise<Probed> {
  if (rememberIn === undefined) return tried(launcher, program, args);
  const memory = new Memory(rememberIn, 'agent-probes.json');
  // The key includes the job, because another version of Proctor may use another sandbox.
  const key = contentHash([await digestOf(program, rememberIn), program.argv0, args, bootId(), JOB]);
  const known = probedIn(memory.recall(key));
  if (known) return known;
  const probed = await tried(launcher, program, args);
  if (probed.code !== undefined) memory.keep(key, JSON.stringify(probed));
  return probed;
}

function probedIn(text: string | undefined): Probed | undefined {
  try {
    const { code, stdout, stderr } = JSON.parse(text ?? '{}') as Partial<Record<keyof Probed, unknown>>;
    const isSaid = typeof code === 'number' && typeof stdout === 'string' && typeof stderr === 'string';
    return isSaid ? { code, stdout, stderr } : undefined;
  } catch {
    return undefined;
  }
}

/** The hash of a program file. The file can be hundreds of megabytes, so the hash is cached until the file changes. */
export async function digestOf({ name, file }: AgentProgram, rememberIn?: string): Promise<ContentHash> {
  const memory = new Memory(rememberIn, 'agent-digests.json');
  const key = identityOf(file);
  const known = memory.recall(key);
  if (known !== undefined && SHA256.test(known)) return known as ContentHash;
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES })) hash.update(chunk as Buffer);
  } catch (cause) {
    throw new Fault('agent_unusable', `Cannot read the ${name} program.`, { cause });
  }
  const digest: ContentHash = `sha256:${hash.digest('hex')}`;
  // If the file changed during the read, the hash may match neither version.
  if (identityOf(file) !== key)
    throw new Fault('agent_unusable', `The ${name} program changed while Proctor was reading it.`);
  memory.keep(key, digest);
  return digest;
}

function identityOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat ? [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ') : '';
}

const SHA256 = /^sha256:[0-9a-f]{64}$/;
const CHUNK_BYTES = 1024 * 1024;

async function tried(launcher: Launcher, program: AgentProgram, args: readonly string[]): Promise<Probed> {
  const id = `probe-${++count}`;
  const stage = makeStage(id);
  try {
    const mounts = await reachable(program.mounts, stage);
    const { argv0, runtimes = [] } = program;
    const prepared = await launcher.open({ ...JOB, id, stage, mounts, runtimes, argv: [argv0, ...args] });
    try {
      const { ending, stdout, stderr } = await prepared.start();
      return {
        code: ending.how === 'exited' ? ending.code : undefined,
        stdout: Buffer.from(stdout.head).toString(),
        stderr: Buffer.from(stderr.head).toString(),
      };
    } finally {
      await prepared.close();
    }
  } finally {
    removeStage(stage);
  }
}

/** Makes stage names unique in this process. */
let count = 0;

const MB = 1024 * 1024;
const ENDS = { headBytes: 4 * 1024, tailBytes: 0 } as const;

const JOB: Omit<Job, 'id' | 'stage' | 'argv'> = {
  backend: 'process',
  env: { PATH: AGENT_PATH, HOME, LANG: 'C.UTF-8', TZ: 'UTC' },
  staged: [],
  writeRoots: [],
  home: true,
  guarded: true,
  network: 'blocked',
  limits: {
    timeoutMs: 20_000,
    memoryBytes: 1_024 * MB,
    pids: 128,
    openFiles: 1_024,
    workBytes: 64 * MB,
    workEntries: 4_096,
    keep: { stdout: ENDS, stderr: ENDS },
    graceMs: 1_000,
  },
  secrets: [],
  live: false,
};
