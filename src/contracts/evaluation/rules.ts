import { hostPathIn } from '../../base/path.ts';
import { holdsSecret } from '../../base/redact.ts';
import { ASKS } from '../artifacts/words.ts';
import { firstRepeated } from '../lists.ts';
import { PROVENANCE_ASKS } from '../provenance.ts';
import { must, rulesFor } from '../rule.ts';
import { EV8 } from './gate-rule.ts';
import type { Evaluation } from './shape.ts';
import { scoreOf, summaryOf, verdictOf } from './sums.ts';

const rule = rulesFor<Evaluation>();

const EV1 = rule({
  id: 'EV1',
  title: 'Evaluation Version Known',
  why: 'A reader must know by which rules an evaluation was written before it believes a word of it.',
  asks: ['schema_version is "evaluation.v1"', 'should (must, when strict): no key is unknown'],
  fields: ['schema_version'],
  breach: evaluation => ({ ...evaluation, schema_version: 'evaluation.v9' }),
});

const EV2 = rule({
  id: 'EV2',
  title: 'Judged Run Identified',
  why: 'A verdict is worth something only for the one run that it was given on, by a judge that is known.',
  asks: [
    'run_id is the name of one folder, version is baseline or new',
    'generated_at is an instant in UTC, seconds needed, at most three digits of fraction',
    'judge_version is a semantic version',
    'seal_sha256 and cases_sha256 are sha256: and 64 hexadecimal digits: of evidence/seal.json and assets/cases.ndjson',
  ],
  fields: ['run_id', 'version', 'generated_at', 'judge_version', 'seal_sha256', 'cases_sha256'],
  breach: evaluation => ({ ...evaluation, seal_sha256: 'sha256:12' }),
});

const EV3 = rule({
  id: 'EV3',
  title: 'Summary Adds Up',
  why: 'Most readers see the summary alone; it must be that of the cases below it.',
  asks: [
    'summary has total, passed, failed, errors and unjudged, whole numbers from 0 up',
    'total is the number of cases; passed, failed and errors those with the verdict pass, fail and error',
    'unjudged is the number of cases that passed without an assertion that was judged',
  ],
  fields: ['summary'],
  reads: ['cases[].verdict', 'cases[].assertions'],
  *check({ summary, cases }) {
    for (const [key, counted] of Object.entries(summaryOf(cases))) {
      const said = summary[key as keyof typeof summary];
      if (said !== counted) yield must(`summary.${key}`, `must be ${counted}, is ${said}`);
    }
  },
  breach: evaluation => ({ ...evaluation, summary: { ...evaluation.summary, failed: 0 } }),
});

const EV4 = rule({
  id: 'EV4',
  title: 'Cases Judged Once',
  why: 'A case that is judged twice can pass and fail; a case that was changed must not pass for the old one.',
  asks: [
    'cases is a list, in the order in which the cases were sent',
    'case_id is a case id',
    ...ASKS.caseId,
    'no case_id stands twice, and upper and lower case are the same',
    'case_sha256 is the content hash of id, input, expected and metadata of the case',
    'output_hash is a string of at most 200 characters, or null',
    'answer_hash, if present, is a SHA-256 over output, events and actions, without their ids and times',
  ],
  fields: ['cases', 'cases[].case_id', 'cases[].case_sha256', 'cases[].output_hash', 'cases[].answer_hash'],
  *check({ cases }) {
    const repeated = firstRepeated(cases.map(({ case_id }) => case_id.toLowerCase()));
    if (repeated !== undefined) yield must(`cases[${repeated}].case_id`, 'is that of an earlier case');
  },
  breach: ({ cases, ...evaluation }) => ({
    ...evaluation,
    cases: cases.map(one => ({ ...one, case_id: 'refund-small' })),
  }),
});

const EV5 = rule({
  id: 'EV5',
  title: 'Verdict Follows',
  why: 'A verdict is no opinion: whoever reads what held and what did not must come to the same one.',
  asks: [
    'verdict is pass, fail or error',
    'error_class is null, timeout, http_error, invalid_json, schema_mismatch, network_error, other or missing',
    'verdict is error exactly where error_class is not null',
    'else verdict is fail where an assertion fails, and pass where none does',
    'failure, if present, has status, of HTTP, and latency_ms of the last attempt of a case without an answer, or null',
  ],
  fields: ['cases[].verdict', 'cases[].error_class', 'cases[].failure'],
  reads: ['cases[].assertions'],
  *check({ cases }) {
    for (const [index, one] of cases.entries()) {
      const verdict = verdictOf(one);
      if (one.verdict !== verdict)
        yield must(`cases[${index}].verdict`, `must be "${verdict}" by what stands below it`);
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
  why: 'Somebody has to mend what failed, and reads here what it was; anybody may read it, so it tells no secret.',
  asks: [
    'assertions is a list; name is a key of expected; status is pass, fail or not_judged',
    'message is null exactly where status is pass, and else not blank',
    'message has at most 300 bytes, and holds no path of a machine and no credential',
    'at is null, final_output.content, or the place of an event or an action, such as events[3]',
    'a case without an answer has no assertions: its error_class is neither null nor other',
  ],
  fields: ['cases[].assertions'],
  reads: ['cases[].error_class'],
  *check({ cases }) {
    for (const [index, { assertions, error_class }] of cases.entries()) {
      const at = `cases[${index}].assertions`;
      if (error_class !== null && error_class !== 'other' && assertions.length > 0) {
        yield must(at, 'must be empty where there was no answer to judge');
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
  if (status === 'pass') return message === null ? undefined : 'must be null where the assertion holds';
  if (message === null || message.trim() === '') return 'must say why the assertion does not hold or was not judged';
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX) return `must have at most ${MESSAGE_BYTES_MAX} bytes`;
  if (hostPathIn(message) !== undefined) return 'holds a path of a machine';
  return holdsSecret(message) ? 'holds what looks like a credential' : undefined;
}

/** What a message may have at most. */
export const MESSAGE_BYTES_MAX = 300;

const EV7 = rule({
  id: 'EV7',
  title: 'Metrics In Range',
  why: 'Averages and intervals are made of these numbers; a negative cost or a score above one would spoil them all.',
  asks: [
    'metrics has latency_ms, cost_usd and tokens, each a number from 0 up or null',
    'metrics has attempts and steps, whole numbers from 0 up',
    'score is a number from 0 to 1 or null: the share of the judged assertions that hold',
    'score is null exactly where no assertion was judged, or the verdict is error',
    'of a case that is missing nothing was measured: attempts and steps are 0, all others null, and so is output_hash',
  ],
  fields: ['cases[].metrics'],
  reads: ['cases[].verdict', 'cases[].error_class', 'cases[].assertions', 'cases[].output_hash'],
  *check({ cases }) {
    for (const [index, { metrics, output_hash, ...one }] of cases.entries()) {
      const at = `cases[${index}].metrics`;
      const score = scoreOf(one);
      if (metrics.score !== score) yield must(`${at}.score`, `must be ${score}, is ${metrics.score}`);
      if (one.error_class !== 'missing') continue;
      const { score: _, ...measured } = metrics;
      if (output_hash !== null || Object.values(measured).some(value => value !== null && value !== 0)) {
        yield must(at, 'must hold nothing where the case is missing');
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
  why: 'Two runs of two models are two agents, and a reader who compares them must know.',
  asks: [
    `provenance, if present, may have ${PROVENANCE_ASKS}: what the answers of the run name`,
    'each is a list of 1 to 5 texts on one line, with 1 to 200 characters, and none stands twice',
  ],
  fields: ['provenance'],
  *check({ provenance = {} }) {
    for (const [name, values] of Object.entries(provenance)) {
      const repeated = firstRepeated(values ?? []);
      if (repeated !== undefined) yield must(`provenance.${name}[${repeated}]`, 'stands here twice');
    }
  },
  breach: evaluation => ({ ...evaluation, provenance: { model: [] } }),
});

export const evaluationRules = [EV1, EV2, EV3, EV4, EV5, EV6, EV7, EV8, EV9];
