import { clip } from '../base/clip.ts';
import { counted } from '../base/counted.ts';
import { Fault } from '../base/fault.ts';
import { contentHash } from '../base/hash.ts';
import { printable } from '../base/printable.ts';
import { type ReportRemark, type ReportRemarks, remarksOfComparison, remarksOfRun } from './remarks.ts';
import type { CasePlaces, Report } from './report.ts';

/** GitLab Code Quality JSON, which shows each problem in the changes of a merge request. */
export const codequality: Report = {
  file: 'codequality.json',
  ofComparison: (comparison, places) => entries(remarksOfComparison(comparison), places),
  ofRun: (run, places) => entries(remarksOfRun(run), places),
};

function entries({ remarks, verdict }: ReportRemarks, places: CasePlaces | undefined): string[] {
  if (!places) {
    throw new Fault('usage', 'A codequality report needs a case file inside the repository. Name it with --cases.');
  }
  const shown = remarks.slice(0, ENTRIES_MAX).map(remark => entryOf(remark, places));
  const left = remarks.length - shown.length;
  const isTold = verdict.level === 'notice' || remarks.some(({ level }) => level === verdict.level);
  const whole = [
    ...(isTold ? [] : [wholeEntry('verdict', `${verdict.title}: ${verdict.message}`, places)]),
    ...(left === 0 ? [] : [wholeEntry('more', `${counted(left, 'more problem')} in the other reports.`, places)]),
  ];
  return [`${JSON.stringify([...shown, ...whole], null, 2)}\n`];
}

/** GitLab refuses large files. */
const ENTRIES_MAX = 1_000;

function entryOf({ level, kind, of, caseId, title, message }: ReportRemark, places: CasePlaces) {
  const line = caseId === undefined ? 1 : places.lineOf(caseId);
  const unknown = line === undefined ? ' (The line of the case is unknown.)' : '';
  return entry({
    check: kind,
    of,
    says: `${title}. ${message.replaceAll('\n', ' ')}${unknown}`,
    severity: SEVERITIES[kind][level],
    path: places.file,
    line: line ?? 1,
  });
}

function wholeEntry(check: string, says: string, { file }: CasePlaces) {
  return entry({ check, of: check, says, severity: 'major', path: file, line: 1 });
}

const SEVERITIES = {
  regressed: { error: 'critical', warning: 'major' },
  suspect: { error: 'critical', warning: 'major' },
  limit: { error: 'critical', warning: 'major' },
  failing: { error: 'major', warning: 'minor' },
  missing: { error: 'minor', warning: 'info' },
} as const;

interface Entry {
  readonly check: string;
  readonly of: string;
  readonly says: string;
  readonly severity: 'info' | 'minor' | 'major' | 'critical';
  readonly path: string;
  /** GitLab requires a line. The first one stands for the whole file. */
  readonly line: number;
}

/** The fingerprint names the problem, not its wording, so that GitLab recognizes it in the next run. */
function entry({ check, of, says, severity, path, line }: Entry) {
  return {
    description: printable(clip(says, SAYS_BYTES_MAX).text),
    check_name: `proctor/${check}`,
    fingerprint: contentHash([check, path, of]).slice('sha256:'.length),
    severity,
    location: { path, lines: { begin: line } },
  };
}

const SAYS_BYTES_MAX = 1_000;
