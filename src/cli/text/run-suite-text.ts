import path from 'node:path';
import { printable } from '../../base/printable.ts';
import { repairedText } from '../../contracts/artifacts/repairs.ts';
import type { ShownSuiteResult } from '../../verbs/run-suite.ts';
import { suiteExitCode } from '../../verbs/suite-exit.ts';
import type { Paint } from './paint.ts';
import { sealedText } from './run-text.ts';
import { twiceJson, twiceLines } from './twice-lines.ts';
import { unjudgedText, wordFor } from './show-suite.ts';
import { countText, durationText, numberText } from './units.ts';

type JudgedRun = ShownSuiteResult['runs'][number];

export function suiteRunJson(result: ShownSuiteResult, stoppedBy: string | undefined): object {
  const { version, runs, isAllFailing, checks, keyId, shard } = result;
  const [first] = runs;
  const isStopped = runs.some(({ isOpen, judged }) => isOpen || judged === undefined);
  return {
    kind: 'suite',
    run_id: first?.place.id ?? null,
    version,
    folder: first ? path.relative(process.cwd(), first.place.folder) : null,
    ending: isStopped
      ? { how: 'killed', by: 'cancel', signal: stoppedBy }
      : { how: 'exited', code: suiteExitCode(result) },
    status: isStopped ? 'interrupted' : 'completed',
    all_failing: isAllFailing,
    checks,
    key_id: keyId,
    ...(shard && { shard }),
    runs: runs.map(({ place, total, ok, failed, gaveUp, isOpen, durationMs, judged, repairs, notPassed, twice }) => ({
      run_id: place.id,
      folder: path.relative(process.cwd(), place.folder),
      cases_total: total,
      cases_completed: ok,
      cases_failed: failed,
      gave_up: gaveUp,
      finished: !isOpen,
      duration_ms: durationMs,
      judged: judged ?? null,
      repairs: repairs ?? {},
      not_passed: notPassed,
      twice: twice && twiceJson(twice),
    })),
  };
}

/** Each run, then the total and the limits, so that the verdict comes last. */
export function suiteRunText(result: ShownSuiteResult, paint: Paint): string {
  const lines = result.runs.flatMap(run => runLines(run, result, paint));
  return `${[...lines, ...totalLines(result, paint), ...gateLines(result, paint), ...doubtLines(result, paint), ...partLines(result)].join('\n')}\n`;
}

/** The verdicts of a run in doubt still count, because only the limits decide. So say it last, and loudly. */
function doubtLines({ runs }: ShownSuiteResult, paint: Paint): string[] {
  return runs.flatMap(({ place, twice }) =>
    twice && twice.differ.verdict > 0
      ? [
          `${paint('bad', '✗')} Two workers disagree on the verdict of ${countText(twice.differ.verdict, 'case')}. One of them is wrong: proctor show ${wordFor(place)}`,
        ]
      : [],
  );
}

function partLines({ shard }: ShownSuiteResult): string[] {
  if (!shard) return [];
  return [
    `This is part ${shard.index} of ${shard.total}. Join all parts with proctor merge, then compare the merged run.`,
  ];
}

function runLines(run: JudgedRun, { version, keyId }: ShownSuiteResult, paint: Paint): string[] {
  const { place, total, ok, failed, gaveUp, troubles, isOpen, durationMs } = run;
  const counts = `${numberText(ok)} of ${countText(total, 'case')}${failed > 0 ? `, ${numberText(failed)} without an answer` : ''}`;
  return [
    `${headline(run, paint)}  ${version}  ${counts}, ${durationText(durationMs)}`,
    ...(gaveUp ? ['  The target stopped answering, so Proctor stopped. Cases that were not sent are marked.'] : []),
    ...troubles
      .slice(0, 3)
      .map(trouble => `  ${paint('bad', trouble.name.padEnd(9))} ${trouble.count} × ${printable(trouble.message)}`),
    ...judgedLines(run, paint),
    ...(run.repairs ? [`  repaired  ${repairedText(run.repairs)}`] : []),
    ...twiceLines(run.twice, total, paint),
    isOpen
      ? `  resume    proctor run suite --resume ${wordFor(place)}`
      : `  evidence  ${printable(path.relative(process.cwd(), place.folder))}`,
    ...(isOpen
      ? []
      : [
          paint(
            'faint',
            `            ${sealedText(keyId)} · proctor show ${wordFor(place)} · proctor compare · proctor report`,
          ),
        ]),
  ];
}

/** The sum of several repetitions. */
function totalLines(result: ShownSuiteResult, paint: Paint): string[] {
  const { runs, version } = result;
  if (runs.length < 2) return [];
  const sum = (count: (run: JudgedRun) => number): number => runs.reduce((total, run) => total + count(run), 0);
  const [trials, passed] = [sum(({ total }) => total), sum(({ judged }) => judged?.passed ?? 0)];
  const isJudged = runs.every(({ judged }) => judged !== undefined);
  const mark =
    suiteExitCode(result) > 0 ? paint('bad', '✗') : passed < trials ? paint('note', '!') : paint('good', '✓');
  const counts = `${numberText(sum(({ ok }) => ok))} of ${countText(trials, 'trial')} answered`;
  const judged = isJudged ? `, ${numberText(passed)} passed` : ', not all judged';
  return [`${mark} ${paint('strong', countText(runs.length, 'run'))}  ${version}  ${counts}${judged}`];
}

/** Says why a run fails although every case has an answer, or that it meets its limits. */
function gateLines({ runs, isAllFailing, checks }: ShownSuiteResult, paint: Paint): string[] {
  const unmet = checks?.filter(({ is_met }) => !is_met) ?? [];
  const isOver = runs.every(({ isOpen }) => !isOpen);
  const bad = [
    ...(isAllFailing ? [runs.some(({ judged }) => judged && judged.failed > 0) ? ALL_FAIL : NONE_ANSWERED] : []),
    ...(checks === null && isOver ? [NOT_CHECKED] : []),
    ...unmet.map(({ message }) => printable(message)),
  ].map(line => `${paint('bad', '✗')} ${line}`);
  if (!checks || checks.length === 0 || unmet.length > 0) return bad;
  const all = checks.length === 1 ? 'The limit is' : `All ${checks.length} limits are`;
  return [...bad, `${paint('good', '✓')} ${all} met.`];
}

const ALL_FAIL = 'Every judged case fails.';
const NONE_ANSWERED = 'No case has an answer that Proctor can judge.';
const NOT_CHECKED = 'Cannot check the limits, because not every repetition was judged here.';

function headline({ isOpen, total, failed, judged, notPassed }: JudgedRun, paint: Paint): string {
  if (isOpen) return `${paint('note', '…')} ${paint('strong', 'interrupted')}`;
  if (total === 0) return `${paint('good', '✓')} ${paint('strong', 'no cases in this part')}`;
  if (failed > 0) return `${paint('bad', '✗')} ${paint('strong', 'not all answered')}`;
  if (judged && judged.failed > 0 && judged.passed === judged.unjudged)
    return `${paint('bad', '✗')} ${paint('strong', 'all answered, none passed')}`;
  if (notPassed.length > 0) return `${paint('note', '!')} ${paint('strong', 'all answered, not all passed')}`;
  if (judged && judged.unjudged === judged.total)
    return `${paint('note', '!')} ${paint('strong', 'all answered, nothing judged')}`;
  return `${paint('good', '✓')} ${paint('strong', 'all answered')}`;
}

function judgedLines({ place, isOpen, judged, notPassed, unjudged: unproven }: JudgedRun, paint: Paint): string[] {
  if (!judged) return isOpen ? [] : [`  judged    not yet; run proctor report ${wordFor(place)}`];
  const { total, passed, failed, errors, unjudged } = judged;
  const parts = [
    `${numberText(passed - unjudged)} of ${numberText(total)} passed`,
    ...(failed > 0 ? [paint('bad', `${numberText(failed)} failed`)] : []),
    ...(errors > 0 ? [paint('bad', `${numberText(errors)} without a verdict`)] : []),
  ];
  const more = failed + errors - notPassed.length;
  return [
    `  judged    ${parts.join(', ')}${unjudgedText(unproven)}`,
    ...(notPassed.length > 0
      ? [`  failing   ${notPassed.map(printable).join(', ')}${more > 0 ? ` and ${numberText(more)} more` : ''}`]
      : []),
  ];
}
