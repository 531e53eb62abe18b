import { systemClock } from '../base/clock.ts';
import { causeText, Fault } from '../base/fault.ts';
import { newRunId } from '../base/ids.ts';
import { type Claim, CLAIMS, type LimitName } from '../contracts/script-outcome/claims.ts';
import { type Observation, observe } from '../execute/canary.ts';
import { interpreters, type Machine } from '../execute/machine.ts';
import { SLOTS } from '../execute/slots.ts';
import { makeStage, removeStage } from '../execute/workspace.ts';
import { heldBy, LIMITS, type MachineLimits } from '../policy/limits.ts';
import { type AgentHere, agentsHere } from '../run/agent/agents-here.ts';
import { offersOf } from '../run/plan.ts';
import { sharedLauncher } from './launcher.ts';

/** What this machine can promise. */
export interface Diagnosis {
  readonly machine: Machine;
  readonly sandboxes: readonly SandboxDiagnosis[];
  /** Programs that scripts ask for, and whether a sandbox sees them. */
  readonly interpreters: readonly { readonly name: string; readonly path: string | undefined }[];
  readonly agents: readonly AgentHere[];
  readonly slots: number;
}

export interface SandboxDiagnosis {
  readonly name: 'none' | 'process';
  readonly works: boolean;
  readonly isolation: 'strict' | 'standard' | 'none';
  /** What it enforces, in words. */
  readonly enforces: readonly string[];
  /** What each limit is worth on this machine. */
  readonly limits: readonly { readonly limit: LimitName; readonly title: string; readonly claim: Claim }[];
  readonly lacks: readonly string[];
  readonly observed: readonly Observation[];
  /** Why it does not work. */
  readonly trouble?: string;
  /** What to do for more. */
  readonly advice: readonly string[];
}

/** Tries every sandbox for real, and looks for agents and their keys in the environment of the caller. */
export async function diagnose(environment: Readonly<Record<string, string | undefined>>): Promise<Diagnosis> {
  const launcher = await sharedLauncher();
  const machine = await launcher.machine();
  const offers = offersOf(machine);
  const offer = offers.find(({ sandbox }) => sandbox === 'process');
  const bare = offers.find(({ sandbox }) => sandbox === 'none');
  const tried = await tryProcess(machine);
  const works = tried.trouble === undefined;
  const isStrict = offer?.isolation === 'strict';
  return {
    machine,
    sandboxes: [
      {
        name: 'process',
        works,
        isolation: works && offer ? offer.isolation : 'none',
        enforces: works ? walls(machine) : [],
        limits: works ? limitsOn(offer?.machine) : [],
        lacks: offer?.lacks ?? [],
        observed: tried.observed,
        ...(tried.trouble !== undefined && { trouble: tried.trouble }),
        advice: adviceFor(machine, tried.trouble, isStrict),
      },
      {
        name: 'none',
        works: true,
        isolation: 'none',
        enforces: ['a clean environment, and how much is kept of what it prints'],
        limits: limitsOn(bare?.machine),
        lacks: [],
        observed: [],
        advice: [],
      },
    ],
    interpreters: interpreters(),
    agents: await agentsHere(launcher, environment),
    slots: SLOTS,
  };
}

async function tryProcess(
  machine: Machine,
): Promise<{ readonly observed: readonly Observation[]; readonly trouble?: string }> {
  if (machine.missing.length > 0) {
    const names = machine.missing.map(file => file.split('/').at(-1)).join(', ');
    return { observed: [], trouble: `Not installed: ${names}.` };
  }
  const id = newRunId('doctor', systemClock);
  const stage = makeStage(id);
  try {
    return { observed: await observe(await sharedLauncher(), trialJob(id, stage)) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const [detail] = causeText(error.cause).split('\n');
    // Whoever asks the doctor need not be sent there.
    const sentence = error.message.replace(/ proctor doctor says \w+\.$/, '');
    return { observed: [], trouble: `${sentence}${detail ? ` (${detail})` : ''}` };
  } finally {
    removeStage(stage);
  }
}

function trialJob(id: string, stage: string) {
  return {
    id,
    backend: 'process',
    argv: [],
    env: {},
    stage,
    staged: ['input'],
    network: 'blocked',
    limits: {
      timeoutMs: 10_000,
      memoryBytes: 256 * 1024 ** 2,
      pids: 64,
      openFiles: 256,
      workBytes: 1024 ** 2,
      workEntries: 100,
      keep: { stdout: { headBytes: 10_000, tailBytes: 0 }, stderr: { headBytes: 10_000, tailBytes: 0 } },
      graceMs: 100,
    },
    secrets: [],
    live: false,
  } as const;
}

function walls({ seccomp }: Machine): string[] {
  return [
    'network blocked',
    'files read-only but for the work folder, whose size and number of files the kernel bounds',
    'environment empty but for what is given',
    'the whole tree of processes ends together',
    ...(seccomp ? ['a system call filter'] : []),
  ];
}

/** How every limit is held here, in the order from the strongest claim to none. */
function limitsOn(machine: MachineLimits | undefined): SandboxDiagnosis['limits'] {
  if (!machine) return [];
  const network = machine.kind === 'no_sandbox' ? 'open' : 'blocked';
  const held = LIMITS.map(({ limit, title }) => ({ limit, title, claim: heldBy(limit, machine, network)[0] }));
  return CLAIMS.flatMap(claim => held.filter(each => each.claim === claim));
}

/** What to do for more, for the cases that people meet. */
function adviceFor({ missing, cgroups, isRoot }: Machine, trouble: string | undefined, isStrict: boolean): string[] {
  if (missing.length > 0)
    return ['Install it: apt-get install bubblewrap util-linux (Debian, Ubuntu), dnf install bubblewrap (Fedora).'];
  const advice: string[] = [];
  if (trouble !== undefined) {
    advice.push(
      'On Ubuntu 23.10 and later, AppArmor keeps unprivileged programs from making user namespaces. Either: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for /usr/bin/bwrap and /usr/bin/unshare with the rule "userns,".',
      'On other systems, see that sysctl user.max_user_namespaces is not 0; inside a container, its own filter may forbid namespaces.',
    );
  }
  if (!isStrict && cgroups === 'none') {
    advice.push(
      isRoot
        ? 'For strict isolation, control groups must be writable; in a container, mount /sys/fs/cgroup read-write.'
        : 'For strict isolation, start Proctor in a group of its own: systemd-run --user --scope -p Delegate=yes -- proctor …',
    );
  }
  return advice;
}
