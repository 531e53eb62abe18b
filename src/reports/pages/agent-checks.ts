import type { CheckResult } from '../../contracts/check-result/index.ts';
import { readBelow } from '../../base/regular.ts';
import { CHECK_FILES, checkFolder } from '../../evidence/agent/check-steps.ts';
import { agentDiff } from './agent-diff.ts';
import type { AgentDiff, AgentFact, PageCheck } from './agent-page-data.ts';
import type { AgentPageInput } from './agent-page.ts';
import { cutText, shortListOf, TEXT_CHARS_MAX } from './bounded.ts';
import { endingWords } from './ending-text.ts';
import { amount, asWords, bytesText, spanText } from './page-words.ts';
import { streamLines } from './stream-part.ts';

/** The checks that ran in the tree that the agent left. */
export function agentChecks({ checks, place, workspace }: AgentPageInput, withheld: string | null): PageCheck[] {
  return checks.map(check => ({
    name: check.name,
    command: cutText(check.command, TEXT_CHARS_MAX),
    verdict: asWords(check.verdict),
    tone: check.verdict === 'passed' ? 'good' : check.verdict === 'failed' ? 'bad' : 'unsure',
    reason: asWords(check.reason),
    message: cutText(check.message, TEXT_CHARS_MAX),
    facts: factsOf(check),
    limits: limitsOf(check),
    failures: shortListOf(
      (check.tests?.failures ?? []).map(name => cutText(name, NAME_CHARS_MAX)),
      FAILURES_MAX,
    ),
    failed: check.tests?.failed ?? 0,
    restored: filesOf(check.restored),
    kept: filesOf(check.kept),
    diff: diffOf(check, place.folder, workspace, withheld),
    second: check.second_look && {
      verdict: asWords(check.second_look.verdict),
      tone: check.second_look.verdict === 'passed' ? 'good' : 'bad',
      message: cutText(check.second_look.message, TEXT_CHARS_MAX),
    },
    streams: check.streams.map(({ name, bytes_total, truncated }) => ({
      name,
      bytes: bytes_total,
      isTruncated: truncated,
      text: streamText(place.folder, `${checkFolder(check.name)}/${name}.txt`),
    })),
  }));
}

const NAME_CHARS_MAX = 300;
const FAILURES_MAX = 50;
const FILES_MAX = 100;

function filesOf(files: CheckResult['kept']): PageCheck['restored'] {
  const shown = (files?.listed ?? []).slice(0, FILES_MAX).map(({ path, change, because }) => ({
    path: cutText(path, NAME_CHARS_MAX),
    change,
    because: asWords(because),
  }));
  return { shown, total: files?.total ?? 0 };
}

function factsOf({
  duration_ms,
  ending,
  tests,
  report,
  overlay,
  paths,
  keep,
  mounts,
  decided_by,
}: CheckResult): AgentFact[] {
  const hashed = (mounts ?? []).filter(({ rehashed }) => rehashed).length;
  return [
    { name: 'Took', value: duration_ms === null ? 'unknown' : spanText(duration_ms) },
    { name: 'Ended', value: ending === null ? 'did not start, or is unknown' : endingWords(ending) },
    {
      name: 'Tests',
      value: tests
        ? `${amount(tests.passed, 'passed', 'passed')}, ${tests.failed} failed, ${tests.skipped} skipped`
        : 'no counts',
      ...(report && { note: `${report.path}${report.format === null ? '' : `, ${report.format}`}` }),
    },
    { name: 'Decided by', value: decided_by === null ? 'nothing' : asWords(decided_by) },
    ...(overlay ? [{ name: 'Hidden files', value: amount(overlay.files, 'file'), note: overlay.sha256 }] : []),
    ...(paths ? [{ name: 'Work', value: listText(paths) }] : []),
    ...(keep ? [{ name: 'May change', value: listText(keep) }] : []),
    ...(mounts && mounts.length > 0
      ? [{ name: 'Mounts', value: `${mounts.length} read-only`, note: `${hashed} hashed again before the check` }]
      : []),
  ];
}

function listText(texts: readonly string[]): string {
  return cutText(texts.slice(0, 20).join(', '), NAME_CHARS_MAX);
}

function limitsOf({ limits, sandbox }: CheckResult): AgentFact[] {
  const { timeout_ms, memory_bytes, pids, output_bytes, work_bytes } = limits;
  return [
    { name: 'Time', value: spanText(timeout_ms) },
    { name: 'Memory', value: memory_bytes === null ? 'no limit' : bytesText(memory_bytes) },
    { name: 'Processes', value: pids === null ? 'no limit' : amount(pids, 'process', 'processes') },
    { name: 'Output kept', value: bytesText(output_bytes) },
    { name: 'Tree', value: bytesText(work_bytes) },
    { name: 'Sandbox', value: `${sandbox.isolation_level}, no network` },
  ];
}

/** The agent's changes to the files that Proctor put back. */
function diffOf(
  { name, restored }: CheckResult,
  folder: string,
  workspace: AgentPageInput['workspace'],
  withheld: string | null,
): AgentDiff | null {
  if (restored.total === 0) return null;
  const file = `${checkFolder(name)}/${CHECK_FILES.restored[0]}`;
  const {
    commits: _,
    commitsTotal: __,
    ...diff
  } = agentDiff({ folder, file, workspace, withheld, bytesMax: DIFF_BYTES_MAX });
  return { ...diff, commits: [], commitsTotal: null };
}

const DIFF_BYTES_MAX = 128 * 1024;

/** The first and last lines; null if the file cannot be read. */
function streamText(folder: string, file: string): string | null {
  const bytes = readBelow(folder, file, STREAM_FILE_BYTES_MAX);
  if (!bytes) return null;
  const { lines, gap } = streamLines(bytes);
  const texts = lines.map(line => (typeof line === 'string' ? line : `${line[0]} …`));
  const all = gap
    ? [...texts.slice(0, gap.after), `[${amount(gap.lines, 'line')} left out]`, ...texts.slice(gap.after)]
    : texts;
  return ends(all.join('\n'));
}

function ends(text: string): string {
  if (text.length <= STREAM_CHARS_MAX) return text;
  const half = STREAM_CHARS_MAX / 2;
  return `${text.slice(0, half).toWellFormed()}\n[…]\n${text.slice(-half).toWellFormed()}`;
}

const STREAM_FILE_BYTES_MAX = 2 * 1024 * 1024;
const STREAM_CHARS_MAX = 32_000;
