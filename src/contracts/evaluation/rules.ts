import { canonicalize } from '../../base/canonical.ts';
import { hostPathIn } from '../../base/path.ts';
import { holdsSecret } from '../../base/redact.ts';
import { REPAIRS_ASK, sumOfRepairs } from '../artifacts/repairs.ts';
import { ARTIFACT_ASKS } from '../artifacts/words.ts';
import { firstRepeated } from '../lists.ts';
import { PROVENANCE_ASKS } from '../provenance.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { EV8 } from './gate-rule.ts';
import type { Evaluation } from './shape.ts';
import { scoreOf, summaryOf, verdictOf } from './sums.ts';

const rule = rulesFor<Evaluation>();

const EV1 = versionRule('EV1', 'Evaluation Version Known', 'evaluation.v1', 'an evaluation');

const EV2 = rule({
  id: 'EV2',
  title: 'Judged Run Identified',
  why: 'A verdict is meaningful only if the judged run and the judge are known.',
  asks: [
    'run_id is a folder name; version is baseline or new',
    'generated_at is an instant in UTC, with seconds and at most three fractional digits',
    'judge_version is a semantic version',
    'seal_sha256 and cases_sha256 are sha256: followed by 64 hexadecimal digits: the hashes of evidence/seal.json and assets/cases.ndjson',
  ],
  fields: ['run_id', 'version', 'generated_at', 'judge_version', 'seal_sha256', 'cases_sha256'],
  breach: evaluation => ({ ...evaluation, seal_sha256: 'sha256:12' }),
});

const EV3 = rule({
  id: 'EV3',
  title: 'Summary Adds Up',
  why: 'Most readers see only the summary, so it must match the cases.',
  asks: [
    'summary has total, passed, failed, errors and unjudged, all non-negative integers',
    'total is the number of cases; passed, failed and errors count the verdicts pass, fail and error',
    'unjudged counts the cases that passed without a judged assertion',
  ],
  fields: ['summary'],
  reads: ['cases[].verdict', 'cases[].assertions'],
  *check({ summary, cases }) {
    for (const [key, counted] of Object.entries(summaryOf(cases))) {
      const said = summary[key as keyof typeof summary];
      if (said !== counted) yield must(`summary.${key}`, `must be ${counted}, but is ${said}`);
    }
  },
  breach: evaluation => ({ ...evaluation, summary: { ...evaluation.summary, failed: 0 } }),
});

const EV4 = rule({
  id: 'EV4',
  title: 'Cases Judged Once',
  why: 'A case judged twice could both pass and fail, and a changed case must not be mistaken for the old one.',
  asks: [
    'cases is a list, in the order in which the cases were sent',
    'case_id is a case id',
    ...ARTIFACT_ASKS.caseId,
    'case_id is unique, ignoring letter case',
    'case_sha256 is the content hash of the case without schema_version, title and suite',
    'output_hash is a string of at most 200 characters, or null',
    'answer_hash, if present, is the SHA-256 of output, events and actions without their ids and times',
  ],
  fields: ['cases', 'cases[].case_id', 'cases[].case_sha256', 'cases[].output_hash', 'cases[].answer_hash'],
  *check({ cases }) {
    const repeated = firstRepeated(cases.map(({ case_id }) => case_id.toLowerCase()));
    if (repeated !== undefined) yield must(`cases[${repeated}].case_id`, 'repeats an earlier id');
  },
  breach: ({ cases, ...evaluation }) => ({
    ...evaluation,
    cases: cases.map(one => ({ ...one, case_id: 'refund-small' })),
  }),
});

const EV5 = rule({
  id: 'EV5',
  title: 'Verdict Follows',
  why: 'Every reader of the assertions must arrive at the same verdict.',
  asks: [
    'verdict is pass, fail or error',
    'error_class is null, timeout, http_error, invalid_json, schema_mismatch, network_error, other or missing',
    'verdict is error if and only if error_class is not null',
    'otherwise verdict is fail if an assertion fails, and pass if none does',
    "failure, if present, has the HTTP status and latency_ms of an unanswered case's last attempt (each may be null)",
    'failure may have error_name, and message: at most 300 bytes, without a host path and without a credential',
  ],
  fields: ['cases[].verdict', 'cases[].error_class', 'cases[].failure'],
  reads: ['cases[].assertions'],
  *check({ cases }) {
    for (const [index, one] of cases.entries()) {
      const verdict = verdictOf(one);
      if (one.verdict !== verdict)
        yield must(`cases[${index}].verdict`, `must be "${verdict}" according to its error_class and assertions`);
      const fault = one.failure?.message === undefined ? undefined : messageFault('fail', one.failure.message);
      if (fault) yield must(`cases[${index}].failure.message`, fault);
    }
  },
  breach: ({ cases: [first, ...rest], ...evaluation }) => ({
    ...evaluation,
    cases: [{ ...first, error_class: 'other' }, ...rest],
  }),
});

const EV6 = rule({
  id: 'EV6',
  title: 'Assertions Told',
  why: 'A message must say what failed so that it can be fixed, without leaking secrets to its readers.',
  asks: [
    'assertions is a list; name is a key of expected; status is pass, fail or not_judged',
    'message is null if and only if status is pass; otherwise it is not blank',
    'message is at most 300 bytes, and contains no host path and no credential',
    'at is null, final_output.content, or the index of an event or action, such as events[3]',
    'assertions is empty for a case without an answer, that is, if error_class is neither null nor other',
  ],
  fields: ['cases[].assertions'],
  reads: ['cases[].error_class'],
  *check({ cases }) {
    for (const [index, { assertions, error_class }] of cases.entries()) {
      const at = `cases[${index}].assertions`;
      if (error_class !== null && error_class !== 'other' && assertions.length > 0) {
        yield must(at, 'must be empty if there was no answer to judge');
      }
      for (const [number, { status, message }] of assertions.entries()) {
        const fault = messageFault(status, message);
        if (fault) yield must(`${at}[${number}].message`, fault);
      }
    }
  },
  breach: ({ cases: [first, ...rest], ...evaluation }) => ({
    ...evaluation,
    cases: [{ ...first, assertions: first?.assertions.map(one => ({ ...one, message: 'Fine.' })) }, ...rest],
  }),
});

function messageFault(status: string, message: string | null): string | undefined {
  if (status === 'pass') return message === null ? undefined : 'must be null if the assertion holds';
  if (message === null || message.trim() === '') return 'must say why the assertion failed or was not judged';
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX) return `must be at most ${MESSAGE_BYTES_MAX} bytes`;
  if (hostPathIn(message) !== undefined) return 'contains a host path';
  return holdsSecret(message) ? 'contains what looks like a credential' : undefined;
}

export const MESSAGE_BYTES_MAX = 300;

const EV7 = rule({
  id: 'EV7',
  title: 'Metrics In Range',
  why: 'Averages and intervals are computed from these numbers; one negative cost or score above 1 would distort them.',
  asks: [
    'metrics has latency_ms, cost_usd and tokens, each a non-negative number or null',
    'ttft_ms, if present, is the time to the first token, a non-negative number',
    'input_tokens and output_tokens, if present, are the parts of tokens, non-negative numbers',
    'metrics has attempts and steps, non-negative integers',
    'score is the share of judged assertions that hold, from 0 to 1, or null',
    'score is null if and only if no assertion was judged or the verdict is error',
    'if error_class is missing, attempts and steps are 0, ttft_ms, input_tokens and output_tokens are absent, and all other metrics and output_hash are null',
  ],
  fields: ['cases[].metrics'],
  reads: ['cases[].verdict', 'cases[].error_class', 'cases[].assertions', 'cases[].output_hash'],
  *check({ cases }) {
    for (const [index, { metrics, output_hash, ...one }] of cases.entries()) {
      const at = `cases[${index}].metrics`;
      const score = scoreOf(one);
      if (metrics.score !== score) yield must(`${at}.score`, `must be ${score}, but is ${metrics.score}`);
      if (one.error_class !== 'missing') continue;
      const { score: _, ...measured } = metrics;
      if (
        output_hash !== null ||
        [measured.ttft_ms, measured.input_tokens, measured.output_tokens].some(value => value !== undefined) ||
        Object.values(measured).some(value => value !== null && value !== 0)
      ) {
        yield must(at, 'must have no values if error_class is "missing"');
      }
    }
  },
  breach: ({ cases: [first, ...rest], ...evaluation }) => ({
    ...evaluation,
    cases: [{ ...first, metrics: { ...first?.metrics, score: 0.25 } }, ...rest],
  }),
});

const EV9 = rule({
  id: 'EV9',
  title: 'Provenance Told',
  why: 'Runs with different models are runs of different agents, so a reader who compares runs must see the models.',
  asks: [
    `provenance, if present, may have ${PROVENANCE_ASKS}, as reported in the answers of the run`,
    'each is a list of 1 to 5 unique single-line strings of 1 to 200 characters',
  ],
  fields: ['provenance'],
  *check({ provenance = {} }) {
    for (const [name, values] of Object.entries(provenance)) {
      const repeated = firstRepeated(values ?? []);
      if (repeated !== undefined) yield must(`provenance.${name}[${repeated}]`, 'is a duplicate');
    }
  },
  breach: evaluation => ({ ...evaluation, provenance: { model: [] } }),
});

const EV10 = rule({
  id: 'EV10',
  title: 'Repairs Add Up',
  why: 'A reader of the totals must see how often replies broke the contract.',
  asks: [
    `in a case, ${REPAIRS_ASK}`,
    'at the top level, repairs is the sum over the cases; it is absent if no case has repairs',
  ],
  fields: ['repairs', 'cases[].repairs'],
  *check({ repairs = {}, cases }) {
    const sums = sumOfRepairs(cases.map(one => one.repairs)) ?? {};
    if (canonicalize(repairs) !== canonicalize(sums)) yield must('repairs', 'must be the sum over the cases');
  },
  breach: evaluation => ({ ...evaluation, repairs: { R6: 2 } }),
});

export const evaluationRules = [EV1, EV2, EV3, EV4, EV5, EV6, EV7, EV8, EV9, EV10];
