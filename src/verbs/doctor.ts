import { systemClock } from '../base/clock.ts';
import { causeText, Fault } from '../base/fault.ts';
import { newRunId } from '../base/ids.ts';
import { type LimitStrength, CLAIMS, type LimitName } from '../contracts/script-outcome/claims.ts';
import { type Observation, observe } from '../execute/launcher/canary.ts';
import { interpreters, type Machine } from '../execute/host/machine.ts';
import { SLOTS } from '../execute/host/slots.ts';
import { makeStage, removeStage } from '../execute/host/workspace.ts';
import { heldBy, LIMITS, type MachineLimits } from '../policy/limits.ts';
import { type AgentHere, agentsHere } from '../run/agent/agents-here.ts';
import { offersOf } from '../run/pipeline/runner-plan.ts';
import { adviceFor } from './doctor-advice.ts';
import { sharedLauncher } from './launcher.ts';

export interface Diagnosis {
  readonly machine: Machine;
  readonly sandboxes: readonly SandboxDiagnosis[];
  /** Interpreters, and where a sandbox finds them. */
  readonly interpreters: readonly { readonly name: string; readonly path: string | undefined }[];
  readonly agents: readonly AgentHere[];
  readonly slots: number;
}

export interface SandboxDiagnosis {
  readonly name: 'none' | 'process';
  readonly works: boolean;
  readonly isolation: 'strict' | 'standard' | 'none';
  readonly enforces: readonly string[];
  /** How this machine enforces each limit. */
  readonly limits: readonly { readonly limit: LimitName; readonly title: string; readonly claim: LimitStrength }[];
  readonly lacks: readonly string[];
  readonly observed: readonly Observation[];
  readonly trouble?: string;
  readonly advice: readonly string[];
}

/** Probes every sandbox, and looks for agents and their credentials in the environment. */
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
        advice: adviceFor(machine, { works, isStrict }),
      },
      {
        name: 'none',
        works: true,
        isolation: 'none',
        enforces: ['a clean environment, and limits on stored output'],
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
    // Drops the advice to run `proctor doctor`, because the user is running it.
    const sentence = error.message.replace(/ [^.]*\bproctor doctor\b[^.]*\.$/, '');
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
    'files read-only except the work folder, where the kernel limits size and number of files',
    'environment empty except for declared variables',
    'all processes end together',
    ...(seccomp ? ['a system call filter'] : []),
  ];
}

/** How this machine enforces every limit, strongest claim first. */
function limitsOn(machine: MachineLimits | undefined): SandboxDiagnosis['limits'] {
  if (!machine) return [];
  const network = machine.kind === 'no_sandbox' ? 'open' : 'blocked';
  const held = LIMITS.map(({ limit, title }) => ({ limit, title, claim: heldBy(limit, machine, network)[0] }));
  return CLAIMS.flatMap(claim => held.filter(each => each.claim === claim));
}
