import { constants } from 'node:os';
import path from 'node:path';
import { printable } from '../../base/printable.ts';
import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { Ending } from '../../contracts/ending.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { hasCode } from '../../contracts/runner/warnings.ts';
import { type LimitStrength, CLAIMS, type LimitName } from '../../contracts/script-outcome/claims.ts';
import type { RecoveredNote, ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import { unknownPartsText } from '../../contracts/script-outcome/unknown-parts.ts';
import type { Life } from '../../verbs/recover.ts';
import type { Shown } from '../../verbs/runs.ts';
import type { Paint } from './paint.ts';
import { countText, durationText, sizeText } from './units.ts';

export const WAITING = 'waiting: all run slots are in use …\n';

export function endingInBrief(ending: Ending): string {
  if (ending.how === 'exited') return `exit ${ending.code}${signalText(ending.code)}`;
  if (ending.how === 'signalled') return ending.signal;
  if (ending.how === 'killed') return STOPPED_BY[ending.by];
  if (ending.how === 'out_of_memory') return 'out of memory';
  return ending.how === 'lost' ? 'unknown: Proctor was interrupted' : 'could not start';
}

/** A sandbox reports a signal as 128 plus its number, but a program can also exit with such a code. */
function signalText(code: number): string {
  const [name] = Object.entries(constants.signals).find(([, number]) => number === code - 128) ?? [];
  return name === undefined ? '' : ` (perhaps ${name})`;
}

export function untestedText({ newest_tried }: Pick<AgentOutcome['agent'], 'newest_tried'>): string {
  const newest = newest_tried === undefined ? '' : ` (newest tested: ${printable(newest_tried)})`;
  return `untested version${newest}`;
}

/** The name of the credential for the model API. */
export function credentialText({ credential }: Pick<AgentOutcome['model_access'], 'credential'>): string[] {
  if (!credential) return [];
  return [`with ${credential.from === 'login' ? 'the login of ' : ''}${printable(credential.name)}`];
}

export function contextLines(context: AgentOutcome['project_context']): string[] {
  if (!context || (context.state === 'offered' && context.total === 0)) return [];
  if (context.state === 'left_out') return ['  context   project instructions hidden'];
  const shown = context.files.slice(0, CONTEXT_SHOWN_MAX).map(({ path }) => printable(path));
  const rest = context.total - shown.length;
  return [`  context   ${shown.join(', ')}${rest > 0 ? ` and ${countText(rest, 'more file')}` : ''}`];
}

const CONTEXT_SHOWN_MAX = 5;

/** Where the agent started. */
export function baseLines(base: AgentOutcome['base']): string[] {
  if (!base) return [];
  const from = base.name === null ? [] : [`${base.kind} ${printable(base.name)}`];
  const commit = base.commit === null ? [] : [`commit ${base.commit.slice(0, 12)}`];
  const files = base.files ? [countText(base.files.total, 'given file')] : [];
  const parts = [...from, ...commit, ...files];
  const { setup } = base;
  return [
    ...(parts.length === 0 ? [] : [`  base      ${parts.join(', ')}`]),
    ...(setup
      ? [
          `  setup     ${printable(setup.command)}: ${countText(setup.changed + setup.ignored, 'file')}, ${sizeText(setup.bytes)}, network ${setup.network}${setup.cached ? ', from the cache' : ''}`,
        ]
      : []),
  ];
}

export function mountLines(mounts: AgentOutcome['mounts'] = []): string[] {
  return mounts.map(
    ({ path, entries, bytes }) =>
      `  mounted   ${printable(path)}, read-only: ${countText(entries, 'entry', 'entries')}, ${sizeText(bytes)}`,
  );
}

const STOPPED_BY = {
  timeout: 'stopped: out of time',
  idle: 'stopped: idle for too long',
  cpu: 'stopped: out of CPU time',
  cancel: 'cancelled',
  policy: 'stopped: policy',
} as const;

/** The state of an unfinished run, and what to do about it. */
export function openText(life: Life): string {
  if (life === 'alive') return 'is still running';
  if (life === 'dead') return 'was interrupted; run proctor recover to complete it';
  return life === 'foreign'
    ? 'was interrupted; you did not start it on this machine'
    : 'is not finished, and its journal cannot be read';
}

/** What `show --json` says first about a run of any kind. */
export function headJson(kind: string, shown: Pick<Shown, 'place' | 'life' | 'isWhole' | 'keyIds'>): object {
  const { place, life, isWhole, keyIds } = shown;
  return {
    kind,
    run_id: place.id,
    folder: path.relative(process.cwd(), place.folder),
    is_open: life !== 'finished',
    ...(life === 'foreign' && { started_here: false }),
    is_whole: isWhole,
    signed_by: keyIds,
  };
}

/** When an interrupted run was completed, and what is unknown about it. */
export function recoveredLines(recovered: RecoveredNote | undefined, paint: Paint): string[] {
  if (!recovered) return [];
  const { at, unknown } = recovered;
  return [
    `  ${paint('note', 'recovered')} ${at}: Proctor was interrupted before it sealed the run`,
    ...(unknown.length > 0 ? [`  ${paint('note', 'unknown')}   ${unknownPartsText(unknown)}`] : []),
  ];
}

/** The sandbox of a run, and whether its probes passed before the run. */
export function sandboxText(
  { sandbox, warnings = [] }: Pick<Runner, 'sandbox' | 'warnings'>,
  observed: readonly { readonly held: boolean }[],
): string {
  if (sandbox.backend === 'none') return 'none: no isolation';
  const parts = [
    sandbox.network_blocked ? 'network blocked' : networkText(warnings),
    ...(sandbox.filesystem_readonly ? ['files read-only'] : []),
  ];
  const proof = observed.length > 0 && observed.every(({ held }) => held) ? ' (probed before the run)' : '';
  return `${sandbox.backend}, ${sandbox.isolation_level}: ${parts.join(', ')}${proof}`;
}

/** Whether a warning says something that no other line shows. */
export function isNews(warning: string): boolean {
  return !hasCode(warning, 'network') && !hasCode(warning, 'version');
}

function networkText(warnings: readonly string[]): string {
  return warnings.some(warning => hasCode(warning, 'network')) ? 'network only to the model' : 'network open';
}

export function limitsText(
  { limits }: Pick<Runner, 'limits'>,
  besides: ScriptOutcome['limits'],
  { memory, claims = [] }: Pick<ScriptOutcome['enforcement'], 'memory' | 'claims'>,
): string {
  const { timeout_ms, max_output_files, max_total_output_bytes } = limits;
  // Runs of earlier versions have no claims, so fall back to their record.
  const text = (limit: LimitName, stated: number | undefined, show: (value: number) => string): string[] => {
    const found = claims.find(claim => claim.limit === limit);
    const value = found?.value ?? stated ?? null;
    const worth = found && found.claim !== 'enforced' ? ` (${claimText(found.claim)})` : '';
    return value === null ? [] : [`${show(value)}${worth}`];
  };
  return [
    durationText(timeout_ms),
    ...(besides.idle_timeout_ms === null ? [] : [`${durationText(besides.idle_timeout_ms)} without output`]),
    ...text('cpu_seconds', limits.max_cpu_seconds, value => `${durationText(value * 1_000)} of CPU time`),
    ...text('cpus', undefined, value => countText(value, 'CPU')),
    ...text('memory_bytes', limits.max_memory_bytes, value =>
      claims.length === 0 && memory === 'rlimit' ? `${sizeText(value)} per process` : sizeText(value),
    ),
    ...text('processes', besides.pids ?? undefined, value => countText(value, 'process', 'processes')),
    `${countText(max_output_files, 'file')} and ${sizeText(max_total_output_bytes)} of output`,
  ].join(', ');
}

/** How each limit was enforced, one line per claim. */
export function limitClaimLines({ claims = [] }: Pick<ScriptOutcome['enforcement'], 'claims'>): string[] {
  return CLAIMS.flatMap(claim => {
    const limits = claims.filter(each => each.claim === claim && each.value !== null).map(({ limit }) => limit);
    return limits.length === 0 ? [] : [`${claimText(claim).padEnd(11)} ${limits.join(', ')}`];
  });
}

const claimText = (claim: LimitStrength): string => claim.replace('_', ' ');

/** Samples can miss short peaks. */
export function sampledText({ measured_by }: ScriptOutcome['usage']): string[] {
  return measured_by === 'samples' ? ['sampled'] : [];
}

/** The size of a stream, and the file that contains it. */
export function streamText(
  { name, bytes_total, bytes_kept, truncated, masked }: ScriptOutcome['streams'][number],
  step: 'script' | 'intent',
): string {
  const cut = truncated ? `, ${sizeText(bytes_kept)} kept` : '';
  const hidden = masked > 0 ? `, ${countText(masked, 'secret')} masked` : '';
  return `${name}    ${sizeText(bytes_total)}${cut}${hidden}  evidence/steps/${step}/${name}.txt`;
}

export function sealedText(keyId: string | null): string {
  return keyId === null ? 'sealed, not signed' : 'sealed and signed';
}

/** The signer that the seal names. Only `verify --key` checks it. */
export function signedText(keyIds: readonly string[] | null): string {
  if (keyIds === null) return 'not signed';
  const by = keyIds.length === 0 ? 'a key without an id' : keyIds.join(', ');
  return `signed by ${by} (check with verify --key)`;
}

/** What was masked, by kind, and which files need review because of their contents. */
export function maskingLines(masking: ScriptOutcome['masking'], paint: Paint): string[] {
  if (!masking) return [];
  const { credentials, kinds, flagged } = masking;
  const counts = Object.entries(kinds).map(([kind, count]) => `${count} ${printable(kind)}`);
  const more = flagged.length - FLAGGED_SHOWN;
  return [
    ...(counts.length > 0 ? [`    masked    ${counts.join(', ')}`] : []),
    ...(credentials === 'kept' ? [paint('note', '    credentials are stored unmasked')] : []),
    ...flagged.slice(0, FLAGGED_SHOWN).map(({ path, code, kinds: held }) => {
      const what = held.length > 0 ? held.join(', ') : code.replaceAll('_', ' ');
      return paint('note', `    needs review: ${printable(path)} (${code}: ${printable(what)})`);
    }),
    ...(more > 0 ? [paint('note', `    needs review: ${countText(more, 'more file')}`)] : []),
  ];
}

const FLAGGED_SHOWN = 20;

type Kept = Pick<Shown, 'isWhole' | 'keyIds' | 'log'>;

export function logLines({ log = [] }: Kept): string[] {
  return log.map(({ level, code, detail }) => `    ${level.padEnd(8)}  ${printable(code)}: ${printable(detail)}`);
}

/** The run folder, and whether it still matches its seal. */
export function evidenceLines({ isWhole, keyIds }: Kept, folder: string, paint: Paint): string[] {
  return [
    `  evidence  ${folder}`,
    isWhole
      ? `            ${paint('good', 'matches its seal')}${paint('faint', `, ${signedText(keyIds)}`)}`
      : `            ${paint('bad', 'does not verify:')} run proctor verify for details`,
  ];
}
