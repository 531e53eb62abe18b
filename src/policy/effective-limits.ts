import { Fault } from '../base/fault.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import type { LimitStrength, LimitName } from '../contracts/script-outcome/claims.ts';
import { claimWarning, heldBy, type MachineLimits } from './limits.ts';

/** The limits that the caller requests. Absent values get defaults. */
export interface Requested {
  readonly profile?: Profile;
  /** The profile's allowed commands and write roots apply too. Never set for scripts. */
  readonly bindsAll?: true;
  readonly sandbox?: 'none' | 'process';
  readonly isolation?: Isolation;
  readonly timeoutMs?: number;
  readonly idleMs?: number;
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  /** CPUs that the run may use at once; 0.5 is half of one. */
  readonly cpus?: number;
  readonly pids?: number;
  readonly outputFilesMax?: number;
  readonly outputBytesMax?: number;
}

type Isolation = 'strict' | 'standard' | 'none';

/** What a sandbox can enforce on this machine. */
export interface Offer {
  readonly sandbox: 'none' | 'process';
  readonly isolation: Isolation;
  /** What is missing for strict isolation, as plural noun phrases: "limits on memory". */
  readonly lacks: readonly string[];
  readonly machine: MachineLimits;
  /** Why it cannot be used, as a sentence. */
  readonly unusable?: string;
}

/** The limits that Proctor will enforce. */
export interface Effective {
  readonly sandbox: 'none' | 'process';
  readonly isolation: Isolation;
  readonly network: 'blocked' | 'open';
  readonly timeoutMs: number;
  readonly idleMs?: number;
  /** Absent if there is no limit. */
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly cpus?: number;
  readonly pids?: number;
  /** What enforces the limits on this machine. */
  readonly machine: MachineLimits;
  readonly outputFilesMax: number;
  readonly outputBytesMax: number;
  /** Requests that were reduced, and why. */
  readonly warnings: readonly string[];
}

export const DEFAULTS = {
  timeoutMs: 60_000,
  memoryBytes: 1024 ** 3,
  pids: 256,
  outputFilesMax: 1_000,
  outputBytesMax: 500 * 1024 ** 2,
} as const;

/** The limits to enforce: the requested ones, tightened to the profile. Throws for a limit that cannot be enforced here. */
export function effectiveLimits(requested: Requested, offers: readonly Offer[]): Effective {
  for (const check of BOUNDS) check(requested);
  const { profile } = requested;
  const { offer, isolation } = chosen(requested, offers);
  const warnings: string[] = [];
  const tightest = (
    name: string,
    key: keyof typeof DEFAULTS & keyof Requested,
    allowed: number | undefined,
  ): number => {
    const asked = requested[key];
    if (allowed === undefined) return asked ?? DEFAULTS[key];
    if (asked === undefined || asked <= allowed) return asked ?? allowed;
    warnings.push(`${name}: requested ${asked}, but profile ${profile?.name} allows ${allowed}`);
    return allowed;
  };
  const { idleMs, cpuSeconds, cpus } = requested;
  const network = offer.sandbox === 'none' || profile?.allow_network ? 'open' : 'blocked';
  const claimOf = (limit: LimitName): LimitStrength => heldBy(limit, offer.machine, network)[0];
  if (cpus !== undefined && claimOf('cpus') !== 'enforced') throw new Fault('not_enforceable', NO_CPUS);
  return {
    sandbox: offer.sandbox,
    isolation,
    network,
    machine: offer.machine,
    timeoutMs: tightest('timeout', 'timeoutMs', profile?.timeout_ms),
    outputFilesMax: tightest('output files', 'outputFilesMax', profile?.max_output_files),
    outputBytesMax: tightest('output bytes', 'outputBytesMax', profile?.max_total_output_bytes),
    ...(idleMs !== undefined && { idleMs }),
    ...(offer.sandbox !== 'none' && {
      memoryBytes: requested.memoryBytes ?? DEFAULTS.memoryBytes,
      pids: requested.pids ?? DEFAULTS.pids,
      ...(cpuSeconds !== undefined && { cpuSeconds }),
      ...(cpus !== undefined && { cpus }),
    }),
    warnings: [
      ...warnings,
      ...(requested.bindsAll ? [] : notBinding(profile)),
      ...offer.lacks.map(lack => `standard, not strict: there are no ${lack}`),
      ...(offer.sandbox === 'none' ? [] : claimWarnings(claimOf, cpuSeconds !== undefined)),
    ].sort(),
  };
}

function chosen(requested: Requested, offers: readonly Offer[]): { offer: Offer; isolation: Isolation } {
  const wanted = requested.isolation ?? (requested.profile?.name === 'strict' ? 'strict' : undefined);
  const sandbox = requested.sandbox ?? (wanted === 'none' ? 'none' : 'process');
  const offer = offers.find(offer => offer.sandbox === sandbox);
  if (!offer) throw new Fault('no_sandbox', `Unknown sandbox "${sandbox}".`);
  if (offer.unusable) {
    const instead = requested.sandbox || wanted ? '' : ', or use --sandbox none to run without isolation';
    throw new Fault(
      'sandbox_unavailable',
      `${offer.unusable} Run proctor doctor to see how to install them${instead}.`,
    );
  }
  if (sandbox === 'none') refuseBare(requested, wanted);
  else if (wanted === 'none') {
    throw new Fault('usage', 'Isolation "none" means no sandbox. Remove --sandbox process or --isolation none.');
  }
  if (wanted === 'strict' && offer.isolation !== 'strict') {
    throw new Fault(
      'not_enforceable',
      `Cannot enforce strict isolation here: there are no ${offer.lacks.join(' and no ')}. Run proctor doctor to see how to fix it, or remove ${strictFlags(requested)}.`,
    );
  }
  return { offer, isolation: offer.isolation };
}

/** The flags that require strict isolation. Intents call a profile a policy. */
function strictFlags({ isolation, profile, bindsAll }: Requested): string {
  const flags = [
    ...(isolation === 'strict' ? ['--isolation strict'] : []),
    ...(profile?.name === 'strict' ? [bindsAll ? '--policy strict' : '--profile strict'] : []),
  ];
  return flags.join(' and ');
}

/** Warns about the main limits only; the evidence states the claim for every limit. */
function claimWarnings(claimOf: (limit: LimitName) => LimitStrength, isCpuLimited: boolean): string[] {
  const set: readonly LimitName[] = ['memory_bytes', 'processes', ...(isCpuLimited ? (['cpu_seconds'] as const) : [])];
  return set.map(limit => claimWarning(limit, claimOf(limit))).filter(warning => warning !== undefined);
}

const NO_CPUS =
  'Cannot enforce --cpus here: it requires control groups with a cpu controller. Remove it, or run proctor doctor.';

/** Profiles also serve intents, so parts of them do not apply to scripts. */
function notBinding(profile: Profile | undefined): string[] {
  if (!profile || profile.allowed_commands.length + profile.allowed_write_roots.length === 0) return [];
  return [`profile ${profile.name}: its allowed commands and write roots do not apply to scripts`];
}

/** Refuses limits that cannot be enforced without a sandbox. */
function refuseBare({ profile, memoryBytes, pids, cpuSeconds, cpus }: Requested, wanted: Isolation | undefined): void {
  const asked: [unknown, string][] = [
    [wanted !== undefined && wanted !== 'none', `isolation "${wanted}"`],
    [profile && !profile.allow_network, `a blocked network, which profile ${profile?.name} requires`],
    [memoryBytes !== undefined, 'a limit on memory'],
    [pids !== undefined, 'a limit on processes'],
    [cpuSeconds !== undefined, 'a limit on CPU time'],
    [cpus !== undefined, 'a CPU share'],
  ];
  const missing = asked.find(([isAsked]) => isAsked);
  if (missing) throw new Fault('not_enforceable', `Proctor cannot enforce ${missing[1]} without a sandbox.`);
}

/** The allowed ranges. Runner records contain some of these limits, with the same ranges. */
const BOUNDS: readonly ((requested: Requested) => void)[] = [
  within('timeoutMs', 1_000, 600_000, 'The timeout must be from 1 second to 10 minutes.'),
  within('idleMs', 100, 600_000, 'The idle timeout must be from 100 milliseconds to 10 minutes.'),
  within('memoryBytes', 16 * 1024 ** 2, 1024 ** 4, 'The memory limit must be from 16m to 1024g.'),
  within('cpuSeconds', 1, 86_400, 'The CPU time must be from 1 second to 1 day.'),
  within('pids', 1, 100_000, 'The number of processes must be from 1 to 100,000.'),
  within('outputFilesMax', 1, 10_000, 'The number of output files must be from 1 to 10,000.'),
  within('outputBytesMax', 1_024, 1024 ** 3, 'The output limit must be from 1k to 1g.'),
  ({ cpus }) => {
    if (cpus !== undefined && !(cpus >= 0.01 && cpus <= 1_024)) {
      throw new Fault('out_of_bounds', 'The CPU share must be from 0.01 to 1024.');
    }
  },
];

function within(
  key: Exclude<keyof Requested, 'profile' | 'bindsAll' | 'sandbox' | 'isolation' | 'cpus'>,
  minimum: number,
  maximum: number,
  sentence: string,
): (requested: Requested) => void {
  return requested => {
    const value = requested[key];
    if (value !== undefined && !(Number.isInteger(value) && value >= minimum && value <= maximum)) {
      throw new Fault('out_of_bounds', sentence);
    }
  };
}
