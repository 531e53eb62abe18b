import path from 'node:path';
import { printable } from '../../base/printable.ts';
import { repairedText } from '../../contracts/artifacts/repairs.ts';
import { failureName } from '../../contracts/artifacts/words.ts';
import { isAllFailing, type JudgedCase, type UnjudgedCounts, unjudgedIn } from '../../contracts/evaluation/index.ts';
import { type SuiteRequest, targetName } from '../../contracts/suite/index.ts';
import type { ShownSuite } from '../../verbs/show-suite.ts';
import { foreignResume } from '../../verbs/suite-words.ts';
import { judgementJson } from './judgement-text.ts';
import type { Paint } from './paint.ts';
import { signedText, headJson } from './run-text.ts';
import { twiceJson, twiceLines } from './twice-lines.ts';
import { countText, durationText, numberText, sizeText } from './units.ts';

export function suiteJson(shown: ShownSuite): object {
  const { run, request, evaluation, judgement, done, twice } = shown;
  return {
    ...headJson('suite', shown),
    run,
    request,
    judged: evaluation?.summary,
    ...(evaluation?.repairs && { repairs: evaluation.repairs }),
    ...(evaluation?.gate && { checks: evaluation.gate.checks }),
    judgement: judgement ? judgementJson(judgement) : null,
    ...(twice && { twice: twiceJson(twice) }),
    ...(done !== undefined && { progress: { done, total: request?.cases.count } }),
  };
}

export function suiteText(shown: ShownSuite, paint: Paint): string {
  const { place, run, request, evaluation, life, done, twice } = shown;
  if (!request) return '';
  const folder = printable(path.relative(process.cwd(), place.folder) || '.');
  const { target, settings, cases, version, repetition } = request;
  const { cases_completed: ok = 0, cases_failed: failed = 0, duration_ms: took } = run?.stats ?? {};
  const isOpen = life !== 'finished';
  const lines = [
    ...(isOpen
      ? [`${paint('note', '…')} ${paint('strong', stateOf(life))}  ${version}`]
      : [
          `${markOf(failed, evaluation, paint)} ${paint('strong', answeredText(ok, cases.count, evaluation))}  ${version}`,
        ]),
    ...limitLines(evaluation, paint),
    `  run       ${place.id}${repetition.total > 1 ? `, repetition ${repetition.number} of ${repetition.total}` : ''}`,
    `  target    ${printable(whomText(target))}`,
    ...partLines(request, paint),
    ...elsewhereLines(request, paint),
    ...(done === undefined ? [] : [`  progress  ${numberText(done)} of ${countText(cases.count, 'case')} so far`]),
    ...(run ? [`  when      ${run.generated_at}${took === undefined ? '' : `, took ${durationText(took)}`}`] : []),
    ...(run?.repo_commit ? [`  commit    ${run.repo_commit.slice(0, 12)}${run.dirty ? ', with changes' : ''}`] : []),
    `  limits    ${durationText(settings.timeout_ms)} per attempt, ${countText(settings.retries, 'retry', 'retries')}, ${settings.concurrency} at once, ${sizeText(settings.max_body_bytes)} per answer`,
    ...judgedLines(evaluation, paint),
    ...(evaluation?.repairs ? [`  repaired  ${repairedText(evaluation.repairs)}`] : []),
    ...twiceLines(twice, cases.count, paint),
    `  evidence  ${folder}`,
    ...whatNext(shown, paint),
  ];
  return `${lines.join('\n')}\n`;
}

/** The mark depends on the verdicts and the limits, not only on the number of answers. */
function markOf(unanswered: number, evaluation: ShownSuite['evaluation'], paint: Paint): string {
  if (unanswered > 0) return paint('bad', '✗');
  if (!evaluation) return paint('note', '!');
  const { summary, cases, gate } = evaluation;
  if (isAllFailing(cases) || gate?.checks.some(({ is_met }) => !is_met)) return paint('bad', '✗');
  return summary.passed < summary.total || summary.unjudged === summary.total ? paint('note', '!') : paint('good', '✓');
}

function answeredText(ok: number, total: number, evaluation: ShownSuite['evaluation']): string {
  const answered = `${numberText(ok)} of ${countText(total, 'case')} answered`;
  if (!evaluation) return `${answered}, not judged`;
  const { passed, unjudged } = evaluation.summary;
  return `${answered}, ${numberText(passed - unjudged)} passed`;
}

function limitLines(evaluation: ShownSuite['evaluation'], paint: Paint): string[] {
  const checks = evaluation?.gate?.checks ?? [];
  const unmet = checks.filter(({ is_met }) => !is_met);
  if (checks.length > 0 && unmet.length === 0) return [`  gate      all ${countText(checks.length, 'limit')} met`];
  return unmet.map(({ message }) => `  ${paint('bad', 'gate')}      ${printable(message)}`);
}

/** Says which part of a suite the run is, or from how many parts it was merged. */
function partLines({ shard, merged, cases }: SuiteRequest, paint: Paint): string[] {
  if (shard)
    return [
      `  part      ${shard.index} of ${shard.total}, ${numberText(cases.count)} of ${countText(shard.all.count, 'case')}; join all parts with proctor merge`,
    ];
  if (!merged) return [];
  const lost = merged.missing.map(({ index }) => index).join(', ');
  return [
    `  merged    from ${countText(merged.parts, 'part')}; evidence/parts.ndjson has the seal of each`,
    ...(lost === ''
      ? []
      : [
          `  ${paint('note', 'warning')}   parts are missing: shard ${lost}; ${numberText(cases.count)} of ${countText(merged.all.count, 'case')} are here`,
        ]),
  ];
}

/** Warns that another machine started the run, because Proctor cannot vouch for the answers from there. */
function elsewhereLines({ begun_elsewhere: begun, cases }: SuiteRequest, paint: Paint): string[] {
  if (!begun) return [];
  const answers = `${numberText(begun.cases_done)} of ${countText(cases.count, 'case')} were answered there`;
  return [`  ${paint('note', 'warning')}   begun_elsewhere: another machine started the run; ${answers}`];
}

function whomText(target: NonNullable<ShownSuite['request']>['target']): string {
  if (target.kind === 'http') return target.url;
  if (target.kind === 'declared') return `${targetName(target)} (${target.declaration.kind})`;
  const whom =
    target.kind === 'script'
      ? `the script ${target.name}`
      : `the agent ${target.name} ${target.version}, policy ${target.policy}`;
  const asked = target.kind === 'agent' ? askedText(target) : '';
  return `${whom}${asked}, ${target.isolation} in ${target.sandbox}`;
}

function askedText(target: Extract<SuiteRequest['target'], { kind: 'agent' }>): string {
  const { model, max_turns: turns, max_cost_usd: cost, model_mode: mode, allow_untested_version: untested } = target;
  const { max_requests: requests, max_tokens: tokens } = target;
  const parts = [
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(turns === undefined ? [] : [`at most ${countText(turns, 'turn')}`]),
    ...(requests === undefined ? [] : [`at most ${countText(requests, 'request')}`]),
    ...(tokens === undefined ? [] : [`at most ${countText(tokens, 'token')}`]),
    ...(cost === undefined ? [] : [`at most ${cost} USD`]),
    ...(mode === undefined ? [] : [mode === 'record' ? 'answers recorded' : 'answers replayed']),
    ...(untested ? ['untested versions allowed'] : []),
  ];
  return parts.map(part => `, ${part}`).join('');
}

function whatNext({ place, request, life, isWhole, keyIds }: ShownSuite, paint: Paint): string[] {
  if (life === 'alive') return [];
  if (life === 'foreign' && request) return [`  resume    ${foreignResume(wordFor(place), request.target.kind)}`];
  if (life !== 'finished') return [`  resume    proctor run suite --resume ${wordFor(place)}`];
  return isWhole
    ? [
        paint(
          'faint',
          `            matches its seal, ${signedText(keyIds)} · proctor report ${wordFor(place)} · proctor compare`,
        ),
      ]
    : [paint('bad', '            does not match its seal: run proctor verify for details')];
}

/** How to name a run on the command line: by its id in this project, else by its path. */
export function wordFor({ id, folder }: { readonly id: string; readonly folder: string }): string {
  const isHere = path.basename(path.dirname(path.dirname(path.dirname(folder)))) === '.proctor';
  return isHere ? id : printable(path.relative(process.cwd(), folder));
}

function stateOf(life: ShownSuite['life']): string {
  if (life === 'alive') return 'is running';
  return life === 'foreign' ? 'was interrupted; you did not start it on this machine' : 'was interrupted';
}

function judgedLines(evaluation: ShownSuite['evaluation'], paint: Paint): string[] {
  if (!evaluation) return [];
  const { passed, failed, errors, unjudged } = evaluation.summary;
  const troubled = evaluation.cases.filter(({ verdict }) => verdict !== 'pass');
  return [
    `  judged    ${numberText(passed - unjudged)} passed, ${numberText(failed)} failed, ${numberText(errors)} without a verdict${unjudgedText(unjudgedIn(evaluation.cases))}`,
    ...troubled
      .slice(0, CASES_SHOWN)
      .map(
        one => `    ${paint('bad', one.verdict.padEnd(5))}  ${one.case_id}  ${paint('faint', printable(whyOf(one)))}`,
      ),
    ...openLines(evaluation, paint),
    ...(troubled.length > CASES_SHOWN
      ? [`    ${numberText(troubled.length - CASES_SHOWN)} more: proctor report ${evaluation.run_id}`]
      : []),
  ];
}

const CASES_SHOWN = 20;
const OPEN_SHOWN = 5;

/** The stored message of a failure, else the first expectation that is not met. */
function whyOf({ error_class, failure, assertions }: JudgedCase): string {
  if (error_class === null) return assertions.find(({ status }) => status === 'fail')?.message ?? '';
  const name = failureName(error_class, failure?.error_name);
  return failure?.message === undefined ? name : `${name}: ${failure.message}`;
}

/** Expectations that could not be judged prove nothing, so each says why. */
function openLines({ cases }: NonNullable<ShownSuite['evaluation']>, paint: Paint): string[] {
  const open = cases.flatMap(({ case_id, verdict, assertions }) =>
    verdict !== 'pass'
      ? []
      : assertions.flatMap(({ name, status, message }) =>
          status === 'not_judged'
            ? [`    ${paint('note', 'open ')}  ${case_id}  ${name}: ${printable(message ?? '')}`]
            : [],
        ),
  );
  const more = open.length > OPEN_SHOWN ? [`    and ${open.length - OPEN_SHOWN} more that were not judged`] : [];
  return [...open.slice(0, OPEN_SHOWN), ...more];
}

/** Cases that count neither as passed nor as failed. */
export function unjudgedText({ bare, open }: UnjudgedCounts = { bare: 0, open: 0 }): string {
  const parts = [
    ...(bare > 0 ? [`${bare} without an expectation`] : []),
    ...(open > 0 ? [`${open} with no expectation that could be judged`] : []),
  ];
  return parts.length > 0 ? `; ${parts.join(', ')}` : '';
}
