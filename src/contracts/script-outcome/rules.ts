import { hostPathIn } from '../../base/path.ts';
import { redact } from '../../base/redact.ts';
import { MASKING_ASKS } from './masking.ts';
import { STEP_ASKS } from '../agent-step/words.ts';
import { firstRepeated, uniqueAdvice } from '../lists.ts';
import { must, rulesFor, versionRule } from '../rule.ts';
import { holdsTrace } from '../script-result/trace.ts';
import type { ScriptOutcome } from './shape.ts';
import { SO5 } from './ending-rule.ts';

const rule = rulesFor<ScriptOutcome>();

const SO1 = versionRule('SO1', 'Outcome Version Known', 'script-outcome.v1', 'an outcome');

const SO2 = rule({
  id: 'SO2',
  title: 'Outcome Identified',
  why: 'The correlation id links public evidence to the details in the internal log.',
  asks: ['run_id is a name', ...STEP_ASKS.name, 'correlation_id is 12 to 32 lower-case letters and digits'],
  fields: ['run_id', 'correlation_id'],
  breach: outcome => ({ ...outcome, correlation_id: 'none' }),
});

const SO3 = rule({
  id: 'SO3',
  title: 'Success Earned',
  why: 'A run succeeds only if the program exits with code 0 and its result claims success.',
  asks: [
    'status is succeeded, failed or timed_out',
    'claimed_status, the status in the script’s result.json, is one of them or null',
    'if status is succeeded, the program exited with code 0 and claimed_status is succeeded',
  ],
  fields: ['status', 'claimed_status'],
  reads: ['ending'],
  *check({ status, claimed_status, ending }) {
    if (status !== 'succeeded') return;
    if (ending.how !== 'exited' || ending.code !== 0) {
      yield must('status', 'must not be "succeeded", because the program did not exit with code 0');
    }
    if (claimed_status !== 'succeeded') {
      yield must('status', 'must not be "succeeded", because the script does not claim success');
    }
  },
  breach: outcome => ({ ...outcome, ending: { how: 'exited', code: 1 } }),
});

const SO4 = rule({
  id: 'SO4',
  title: 'Reason Told',
  why: 'A run that did not succeed states why: a code for programs, and a public message for users.',
  asks: [
    'reason is null, or a word of at most 64 lower-case letters, digits and underscores that starts with a letter',
    'reason is null if and only if status is succeeded',
    'public_message is null if and only if reason is null, and never blank',
    'public_message has at most 2,000 bytes, and contains no stack trace, host path or credential',
  ],
  fields: ['reason', 'public_message'],
  reads: ['status'],
  *check({ reason, public_message, status }) {
    if (status === 'succeeded' && reason !== null) yield must('reason', 'must be null if the run succeeded');
    if (status !== 'succeeded' && reason === null) yield must('reason', 'must not be null if the run did not succeed');
    if ((reason === null) !== (public_message === null)) {
      yield must('public_message', 'must be null if and only if reason is null');
    }
    if (public_message === null) return;
    if (holdsTrace(public_message)) yield must('public_message', 'contains a stack trace');
    if (hostPathIn(public_message)) yield must('public_message', 'contains a host path');
    if (redact(public_message).text !== public_message)
      yield must('public_message', 'contains what looks like a credential');
    if (Buffer.byteLength(public_message) > MESSAGE_BYTES_MAX) {
      yield must('public_message', `must have at most ${MESSAGE_BYTES_MAX} bytes`);
    }
  },
  breach: outcome => ({ ...outcome, reason: 'exit_code', public_message: 'The script failed.' }),
});

const SO6 = rule({
  id: 'SO6',
  title: 'Salvage Marked',
  why: 'Files from an unsuccessful run can be useful, but must not look like the output of a successful one.',
  asks: ['salvaged is true or false; it is false if status is succeeded'],
  fields: ['salvaged'],
  reads: ['status'],
  *check({ salvaged, status }) {
    if (salvaged && status === 'succeeded') yield must('salvaged', 'must be false if the run succeeded');
  },
  breach: outcome => ({ ...outcome, salvaged: true }),
});

const SO7 = rule({
  id: 'SO7',
  title: 'Result Kept',
  why: 'Proctor may replace parts of the result. The hash proves what the script wrote.',
  asks: [
    'result is null, or has sha256, bytes and unknown_keys (a list of at most 1,000 strings)',
    'if result is null, claimed_status is null',
  ],
  fields: ['result'],
  reads: ['claimed_status'],
  *check({ result, claimed_status }) {
    if (result === null && claimed_status !== null) yield must('result', 'must not be null if claimed_status is not');
  },
  breach: outcome => ({ ...outcome, result: null }),
});

const SO8 = rule({
  id: 'SO8',
  title: 'Streams Counted',
  why: 'A reader must know whether the stored output is complete, and how much there was.',
  asks: [
    'streams has stdout and stderr, each at most once',
    'each has bytes_total, bytes_kept (at most bytes_total) and masked (the number of masked ranges)',
    'sha256 covers the whole stream after masking',
    'truncated is true if and only if bytes_kept is less than bytes_total',
    ...MASKING_ASKS,
  ],
  fields: ['streams', 'masking'],
  *check({ streams }) {
    const repeated = firstRepeated(streams.map(({ name }) => name));
    if (repeated !== undefined) yield must(`streams[${repeated}].name`, 'is a duplicate');
    for (const [index, { bytes_total, bytes_kept, truncated }] of streams.entries()) {
      if (bytes_kept > bytes_total) yield must(`streams[${index}].bytes_kept`, 'is more than bytes_total');
      else if (truncated !== bytes_kept < bytes_total) {
        yield must(`streams[${index}].truncated`, 'must be true if and only if bytes_kept is less than bytes_total');
      }
    }
  },
  breach: ({ streams, ...rest }) => ({
    ...rest,
    streams: streams.map(stream => ({ ...stream, bytes_kept: stream.bytes_total + 1 })),
  }),
});

const SO9 = rule({
  id: 'SO9',
  title: 'Cuts Told',
  why: 'Proctor must report everything that it truncated or replaced, with the full size.',
  asks: [
    'cuts is a list of at most 1,000; each has what (a word), bytes_total and bytes_kept, which is less than bytes_total',
    'every truncated stream has a cut of the same name',
    'replaced is a list of at most 100 words',
    'should: replaced has no duplicates',
  ],
  fields: ['cuts', 'replaced'],
  reads: ['streams'],
  *check({ cuts, replaced, streams }) {
    for (const [index, { bytes_total, bytes_kept }] of cuts.entries()) {
      if (bytes_kept >= bytes_total) yield must(`cuts[${index}].bytes_kept`, 'must be less than bytes_total');
    }
    const cut = new Set(cuts.map(({ what }) => what));
    for (const { name, truncated } of streams) {
      if (truncated && !cut.has(name)) yield must('cuts', `must have an entry for ${name}, which is truncated`);
    }
    yield* uniqueAdvice(replaced, 'replaced');
  },
  breach: outcome => ({ ...outcome, cuts: [{ what: 'html_output', bytes_total: 10, bytes_kept: 10 }] }),
});

const SO10 = rule({
  id: 'SO10',
  title: 'Output Counted',
  why: 'The outcome counts the actual files, and reports where the script’s list differs from them.',
  asks: [
    'artifacts has files, bytes, undeclared and size_mismatches, all non-negative integers',
    'declared_missing is a list of at most 50 strings',
    'undeclared is at most files, and less than files if size_mismatches is not 0',
    'bytes is 0 if files is 0',
  ],
  fields: ['artifacts'],
  *check({ artifacts: { files, bytes, undeclared, size_mismatches } }) {
    // Only a declared file has a size to compare.
    const declared = files - undeclared;
    if (declared < 0 || (declared === 0 && size_mismatches > 0)) {
      yield must('artifacts.files', 'is less than the other counts require');
    }
    if (files === 0 && bytes > 0) yield must('artifacts.bytes', 'must be 0 if there are no files');
  },
  breach: outcome => ({ ...outcome, artifacts: { ...outcome.artifacts, undeclared: 9 } }),
});

const SO11 = rule({
  id: 'SO11',
  title: 'Enforcement Stated',
  why: 'A reader must know what enforced each limit, because mechanisms differ in strength.',
  asks: [
    'in enforcement, memory, pids and cpu are cgroup_v1, cgroup_v2, rlimit or none',
    'enforcement.claims, if present, lists each limit at most once, with its value or null',
    'each claim is enforced, watched, per_process or absent',
    'in enforcement, output is tmpfs or none; kill is pid_namespace or process_group; seccomp and user are true or false',
    'in usage, cpu_ms, memory_peak_bytes and forks_denied are non-negative integers or null',
    'usage.measured_by, if present, is cgroup, samples or null',
    'in limits, pids, idle_timeout_ms and open_files are non-negative integers, or null if there was no limit',
  ],
  fields: ['enforcement', 'limits', 'usage'],
  *check({ enforcement: { claims = [] } }) {
    const repeated = firstRepeated(claims.map(({ limit }) => limit));
    if (repeated !== undefined) yield must(`enforcement.claims[${repeated}].limit`, 'is a duplicate');
  },
  breach: outcome => ({ ...outcome, enforcement: { ...outcome.enforcement, kill: 'none' } }),
});

const SO12 = rule({
  id: 'SO12',
  title: 'Guarantees Held',
  why: 'A run must not succeed if the self-test disproved a guarantee of its sandbox.',
  asks: [
    'observed is a list; each has what, held and note',
    'what is network, file_system, environment or privileges, each at most once',
    'if status is succeeded, every held is true',
  ],
  fields: ['observed'],
  reads: ['status'],
  *check({ observed, status }) {
    const repeated = firstRepeated(observed.map(({ what }) => what));
    if (repeated !== undefined) yield must(`observed[${repeated}].what`, 'is a duplicate');
    if (status !== 'succeeded') return;
    for (const [index, { held }] of observed.entries()) {
      if (!held) yield must(`observed[${index}].held`, 'must be true if the run succeeded');
    }
  },
  breach: ({ observed, ...rest }) => ({ ...rest, observed: observed.map(entry => ({ ...entry, held: false })) }),
});

export const scriptOutcomeRules = [SO1, SO2, SO3, SO4, SO5, SO6, SO7, SO8, SO9, SO10, SO11, SO12];

const MESSAGE_BYTES_MAX = 2_000;
