import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import { printable } from '../base/printable.ts';
import type { AttemptsReport, UnrankedAttempt } from '../contracts/attempts.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { attemptIn, attemptsOf } from '../evidence/agent/agent-attempt.ts';
import { sealOf } from '../evidence/pack/pack.ts';
import { lineIn } from '../evidence/recovery/ledger-line.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { refuseForeign } from '../evidence/run-folder/own-file.ts';
import { homeFrom, type RunFolder, runsIn } from '../evidence/run-folder/runs.ts';
import { type ReadAttempt, readAttempt } from '../judge/agent/attempt-row.ts';
import { rankAttempts } from '../judge/agent/rank-attempts.ts';
import { verifyFolder } from '../verify/folder.ts';
import { firstViolation } from './pack.ts';
import { lifeOf } from './recover.ts';

/** The runs of a group, and their ranking. */
export interface AttemptGroup {
  readonly report: AttemptsReport;
  /** The run folders of ranked attempts, by number. */
  readonly folders: ReadonlyMap<number, string>;
}

/** The group that a word names: its id, or the start of it; `latest` if the newest run is an attempt. */
export function groupNamed(word: string, cwd: string): string | undefined {
  const runs = runsIn(homeFrom(cwd));
  const last = word === 'latest' ? runs.at(-1) : undefined;
  if (last) return last.lane === 'agent' ? attemptIn(last.folder)?.group : undefined;
  if (!GROUP_START.test(word)) return undefined;
  const groups = [...new Set(attemptsOf(runs).map(({ attempt }) => attempt.group))];
  const [first, second] = groups.includes(word) ? [word] : groups.filter(group => group.startsWith(word));
  if (first === undefined)
    throw new Fault(
      'no_run',
      `No group of attempts matches "${printable(word)}". Run \`proctor list\` to see all runs.`,
    );
  if (second !== undefined)
    throw new Fault('ambiguous_run', `Several groups of attempts match "${printable(word)}". Use more of the id.`);
  return first;
}

const GROUP_START = /^attempts_\d/;

/** Verifies every run of a group and ranks them again from their sealed folders. */
export async function attemptGroup(
  group: string,
  cwd: string,
  key: Checker | undefined,
  signal?: AbortSignal,
): Promise<AttemptGroup> {
  const home = homeFrom(cwd);
  const members = attemptsOf(runsIn(home)).filter(({ attempt }) => attempt.group === group);
  const read: MemberRead[] = [];
  const unusable: UnrankedAttempt[] = [];
  for (const { place, attempt } of members) {
    const trouble = await troubleWith(place, home, signal);
    const found = trouble ? undefined : readAttempt(place.folder, key);
    if (found) read.push({ ...found, folder: place.folder });
    else unusable.push({ attempt: attempt.number, run_id: place.id, ...(trouble ?? NO_ATTEMPT) });
  }
  const of = Math.max(...members.map(({ attempt }) => attempt.of));
  return ranked({ group, of, read, unusable, notRun: [], notes: [] });
}

export interface MemberRead extends ReadAttempt {
  readonly folder: string;
}

interface GroupMembers extends Pick<AttemptsReport, 'group' | 'of' | 'notes'> {
  readonly read: readonly MemberRead[];
  /** Runs that cannot be trusted, so no winner can be chosen. */
  readonly unusable: readonly UnrankedAttempt[];
  readonly notRun: readonly UnrankedAttempt[];
}

export function ranked({ group, of, read, unusable, notRun, notes }: GroupMembers): AttemptGroup {
  const present = new Set([...read.map(({ row }) => row), ...unusable, ...notRun].map(({ attempt }) => attempt));
  const missing = Array.from({ length: of }, (_, index) => index + 1)
    .filter(number => !present.has(number))
    .map((attempt): UnrankedAttempt => ({ attempt, run_id: null, code: 'not_here', message: NOT_HERE }));
  const ranking = rankAttempts(read.map(({ row }) => row));
  const refusal = refusalOf(read, unusable);
  const report: AttemptsReport = {
    kind: 'attempts',
    group,
    of,
    is_evidence: false,
    ...ranking,
    ...(refusal !== null && { winner: null, why: refusal }),
    not_ranked: [...unusable, ...notRun, ...missing].sort((a, b) => a.attempt - b.attempt),
    notes: [...notes, ...notesOf(read, ranking.winner?.attempt)],
    exit_code: refusal === null && ranking.winner ? 0 : 1,
  };
  return { report, folders: new Map(read.map(({ row, folder }) => [row.attempt, folder])) };
}

const NOT_HERE = 'Its run folder is missing: it did not run, or its folder was removed.';
const NO_ATTEMPT = { code: 'unreadable_run', message: 'Its documents do not describe an attempt.' } as const;

/** Why a run cannot be ranked; undefined if it can. */
async function troubleWith(
  place: RunFolder,
  home: string,
  signal: AbortSignal | undefined,
): Promise<Pick<UnrankedAttempt, 'code' | 'message'> | undefined> {
  const life = lifeOf(place);
  if (life === 'alive') return { code: 'running', message: 'It is still running.' };
  if (life !== 'finished') return { code: 'unfinished', message: 'It was interrupted. Run proctor recover.' };
  if (!sealOf(place.folder)) return { code: 'not_sealed', message: 'It is not sealed.' };
  const violation = await firstViolation(verifyFolder(place.folder, {}), signal);
  if (violation !== undefined) return { code: 'not_valid', message: `It does not verify: ${violation}` };
  const seal = fileHash(path.join(place.folder, SEAL));
  const line = lineIn(home, { run_id: place.id });
  if (line !== undefined && seal !== undefined && !line.includes(seal))
    return { code: 'not_valid', message: 'Its seal differs from the one in the ledger.' };
  try {
    refuseForeign(place.folder);
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, message: error.message };
  }
}

function refusalOf(read: readonly MemberRead[], unusable: readonly UnrankedAttempt[]): string | null {
  const [bad] = unusable;
  if (bad) return `Attempt ${bad.attempt} (${printable(bad.run_id ?? '')}) cannot be ranked. ${bad.message}`;
  const [first, ...others] = read;
  if (!first) return null;
  const seen = new Map<number, string>();
  for (const { row } of read) {
    const before = seen.get(row.attempt);
    if (before !== undefined)
      return `Attempt ${row.attempt} exists twice: ${printable(before)} and ${printable(row.run_id)}.`;
    seen.set(row.attempt, row.run_id);
  }
  const other = others.find(({ asked, exam }) => asked.of !== first.asked.of || exam !== first.exam);
  if (!other) return null;
  return `Attempt ${other.row.attempt} (${printable(other.row.run_id)}) has another task or other checks than attempt ${first.row.attempt}.`;
}

function notesOf(read: readonly MemberRead[], winner: number | undefined): string[] {
  const isOtherBase = new Set(read.map(({ baseSha }) => baseSha)).size > 1;
  const won = read.find(({ row }) => row.attempt === winner)?.row;
  return [
    ...(isOtherBase ? ['The attempts started from different commits.'] : []),
    ...(won?.diff?.files === 0 ? ['The winner changed nothing.'] : []),
  ];
}
