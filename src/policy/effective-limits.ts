import { Fault } from '../base/fault.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import { SCRIPT_LIMIT_NAMES, SCRIPT_LIMITS, type ScriptLimitValues } from '../contracts/script-limits.ts';
import type { LimitStrength, LimitName } from '../contracts/script-outcome/claims.ts';
import { claimWarning, heldBy, type MachineLimits } from './limits.ts';

/** The limits that the caller requests. Absent values get defaults. */
export interface Requested extends ScriptLimitValues {
  readonly profile?: Profile;
  /** The profile's allowed commands and write roots apply too. Never set for scripts. */
  readonly bindsAll?: true;
  readonly sandbox?: 'none' | 'process';
  readonly isolation?: Isolation;
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

/** The limits to enforce: the requested ones, tightened to the profile. Throws for a limit that cannot be enforced here. */
export function effectiveLimits(requested: Requested, offers: readonly Offer[]): Effective {
  refuseOutOfRange(requested);
  const { profile } = requested;
  const { offer, isolation } = chosen(requested, offers);
  const warnings: string[] = [];
  const tightest = (
    name: string,
    key: 'timeoutMs' | 'outputFilesMax' | 'outputBytesMax',
    allowed: number | undefined,
  ): number => {
    const asked = requested[key];
    if (allowed === undefined) return asked ?? SCRIPT_LIMITS[key].usual;
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
      memoryBytes: requested.memoryBytes ?? SCRIPT_LIMITS.memoryBytes.usual,
      pids: requested.pids ?? SCRIPT_LIMITS.pids.usual,
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

function refuseOutOfRange(requested: Requested): void {
  for (const limit of SCRIPT_LIMIT_NAMES) {
    const value = requested[limit];
    const { minimum, maximum, outside } = SCRIPT_LIMITS[limit];
    // A share of CPUs is the only limit that may be a fraction.
    const isNumber = limit === 'cpus' ? Number.isFinite(value) : Number.isInteger(value);
    if (value !== undefined && !(isNumber && value >= minimum && value <= maximum)) {
      throw new Fault('out_of_bounds', outside);
    }
  }
}
