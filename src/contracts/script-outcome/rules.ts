import { hostPathIn } from '../../base/path.ts';
import { redact } from '../../base/redact.ts';
import { MASKING_ASKS } from './masking.ts';
import { ASKS } from '../agent-step/words.ts';
import { firstRepeated, uniqueAdvice } from '../lists.ts';
import { must, rulesFor } from '../rule.ts';
import { holdsTrace } from '../script-result/trace.ts';
import type { ScriptOutcome } from './shape.ts';
import { SO5 } from './ending-rule.ts';

const rule = rulesFor<ScriptOutcome>();

const SO1 = rule({
  id: 'SO1',
  title: 'Outcome Version Known',
  why: 'A reader must know by which rules an outcome was written before it believes a word of it.',
  asks: ['schema_version is "script-outcome.v1"', 'should (must, when strict): no key is unknown'],
  fields: ['schema_version'],
  breach: outcome => ({ ...outcome, schema_version: 'script-outcome.v9' }),
});

const SO2 = rule({
  id: 'SO2',
  title: 'Outcome Identified',
  why: 'Whoever asks about a run names it by an id under which the internal log tells more than a stranger may see.',
  asks: ['run_id is a name', ...ASKS.name, 'correlation_id is 12 to 32 lower-case letters and digits'],
  fields: ['run_id', 'correlation_id'],
  breach: outcome => ({ ...outcome, correlation_id: 'none' }),
});

const SO3 = rule({
  id: 'SO3',
  title: 'Success Earned',
  why: 'Success needs two witnesses: the program ended well, and its result says so.',
  asks: [
    'status is succeeded, failed or timed_out',
    'claimed_status, what result.json of the script said, is one of them or null',
    'where status is succeeded, the program exited with code 0 and claimed_status is succeeded',
  ],
  fields: ['status', 'claimed_status'],
  reads: ['ending'],
  *check({ status, claimed_status, ending }) {
    if (status !== 'succeeded') return;
    if (ending.how !== 'exited' || ending.code !== 0) {
      yield must('status', 'must not be "succeeded" where the program did not exit with code 0');
    }
    if (claimed_status !== 'succeeded') {
      yield must('status', 'must not be "succeeded" where the script itself does not say so');
    }
  },
  breach: outcome => ({ ...outcome, ending: { how: 'exited', code: 1 } }),
});

const SO4 = rule({
  id: 'SO4',
  title: 'Reason Told',
  why: 'A run that did not succeed says why: in a word for programs, and in a sentence that any user may see.',
  asks: [
    'reason is null or a word of at most 64 lower-case letters, digits and underscores, first a letter',
    'reason is null exactly where status is succeeded',
    'public_message is null exactly where reason is, and else not blank',
    'public_message has at most 2,000 bytes, and holds no stack trace, no path of a machine and no credential',
  ],
  fields: ['reason', 'public_message'],
  reads: ['status'],
  *check({ reason, public_message, status }) {
    if (status === 'succeeded' && reason !== null) yield must('reason', 'must be null where the run succeeded');
    if (status !== 'succeeded' && reason === null)
      yield must('reason', 'must not be null where the run did not succeed');
    if ((reason === null) !== (public_message === null)) {
      yield must('public_message', 'must be null where reason is, and only there');
    }
    if (public_message === null) return;
    if (holdsTrace(public_message)) yield must('public_message', 'holds a stack trace');
    if (hostPathIn(public_message)) yield must('public_message', 'holds a path of a machine');
    if (redact(public_message).text !== public_message)
      yield must('public_message', 'holds what looks like a credential');
    if (Buffer.byteLength(public_message) > MESSAGE_BYTES_MAX) {
      yield must('public_message', `must have at most ${MESSAGE_BYTES_MAX} bytes`);
    }
  },
  breach: outcome => ({ ...outcome, reason: 'exit_code', public_message: 'The script failed.' }),
});

const SO6 = rule({
  id: 'SO6',
  title: 'Salvage Marked',
  why: 'Files of a run that did not succeed may be of use, and must never pass for those of one that did.',
  asks: ['salvaged is true or false, and false where status is succeeded'],
  fields: ['salvaged'],
  reads: ['status'],
  *check({ salvaged, status }) {
    if (salvaged && status === 'succeeded') yield must('salvaged', 'must be false where the run succeeded');
  },
  breach: outcome => ({ ...outcome, salvaged: true }),
});

const SO7 = rule({
  id: 'SO7',
  title: 'Result Kept',
  why: 'What the script said is judged and perhaps replaced; its own words stay provable by their hash.',
  asks: [
    'result is null, or has sha256, bytes and unknown_keys, a list of at most 1,000 strings',
    'where result is null, claimed_status is null too',
  ],
  fields: ['result'],
  reads: ['claimed_status'],
  *check({ result, claimed_status }) {
    if (result === null && claimed_status !== null) yield must('result', 'is null, so nothing can have been claimed');
  },
  breach: outcome => ({ ...outcome, result: null }),
});

const SO8 = rule({
  id: 'SO8',
  title: 'Streams Counted',
  why: 'A reader must know whether it sees all that a program said, and how much there was.',
  asks: [
    'streams is a list of stdout and stderr, each at most once',
    'each has bytes_total and bytes_kept, which is not more, and masked: how many ranges were masked',
    'sha256 is that of the whole stream after masking',
    'truncated is true exactly where bytes_kept is less than bytes_total',
    ...MASKING_ASKS,
  ],
  fields: ['streams', 'masking'],
  *check({ streams }) {
    const repeated = firstRepeated(streams.map(({ name }) => name));
    if (repeated !== undefined) yield must(`streams[${repeated}].name`, 'stands here twice');
    for (const [index, { bytes_total, bytes_kept, truncated }] of streams.entries()) {
      if (bytes_kept > bytes_total) yield must(`streams[${index}].bytes_kept`, 'is more than bytes_total');
      else if (truncated !== bytes_kept < bytes_total) {
        yield must(`streams[${index}].truncated`, 'must be true exactly where bytes_kept is less than bytes_total');
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
  why: 'Whatever was shortened or replaced says so, with its full size; nothing is lost in silence.',
  asks: [
    'cuts is a list of at most 1,000; each has what, a word, and bytes_kept, which is less than bytes_total',
    'every stream that is truncated has a cut of its name',
    'replaced is a list of at most 100 words',
    'should: nothing stands in replaced twice',
  ],
  fields: ['cuts', 'replaced'],
  reads: ['streams'],
  *check({ cuts, replaced, streams }) {
    for (const [index, { bytes_total, bytes_kept }] of cuts.entries()) {
      if (bytes_kept >= bytes_total) yield must(`cuts[${index}].bytes_kept`, 'must be less than bytes_total');
    }
    const cut = new Set(cuts.map(({ what }) => what));
    for (const { name, truncated } of streams) {
      if (truncated && !cut.has(name)) yield must('cuts', `must tell that ${name} was cut`);
    }
    yield* uniqueAdvice(replaced, 'replaced');
  },
  breach: outcome => ({ ...outcome, cuts: [{ what: 'html_output', bytes_total: 10, bytes_kept: 10 }] }),
});

const SO10 = rule({
  id: 'SO10',
  title: 'Output Counted',
  why: 'The files that are really there are the truth, and where the list of the script differs a reader is told.',
  asks: [
    'artifacts has files, bytes, undeclared and size_mismatches, whole numbers from 0 up',
    'declared_missing is a list of at most 50 strings',
    'undeclared is not more than files, and less where size_mismatches is not 0; no files have no bytes',
  ],
  fields: ['artifacts'],
  *check({ artifacts: { files, bytes, undeclared, size_mismatches } }) {
    // Only a file that was declared has a size that can differ.
    const declared = files - undeclared;
    if (declared < 0 || (declared === 0 && size_mismatches > 0)) {
      yield must('artifacts.files', 'is less than what is said of them');
    }
    if (files === 0 && bytes > 0) yield must('artifacts.bytes', 'must be 0 where there is no file');
  },
  breach: outcome => ({ ...outcome, artifacts: { ...outcome.artifacts, undeclared: 9 } }),
});

const SO11 = rule({
  id: 'SO11',
  title: 'Enforcement Stated',
  why: 'The same limit is worth more or less by what held it, and a limit that nothing held is none.',
  asks: [
    'memory, pids and cpu of enforcement are cgroup_v1, cgroup_v2, rlimit or none',
    'claims of enforcement, if present, is a list; each limit stands there at most once, with its value or null, and enforced, watched, per_process or absent',
    'output is tmpfs or none, kill is pid_namespace or process_group, seccomp and user are true or false',
    'cpu_ms, memory_peak_bytes and forks_denied of usage are whole numbers from 0 up, or null; measured_by, if present, is cgroup, samples or null',
    'pids, idle_timeout_ms and open_files of limits are whole numbers from 0 up, or null where nothing bounded it',
  ],
  fields: ['enforcement', 'limits', 'usage'],
  *check({ enforcement: { claims = [] } }) {
    const repeated = firstRepeated(claims.map(({ limit }) => limit));
    if (repeated !== undefined) yield must(`enforcement.claims[${repeated}].limit`, 'stands here twice');
  },
  breach: outcome => ({ ...outcome, enforcement: { ...outcome.enforcement, kill: 'none' } }),
});

const SO12 = rule({
  id: 'SO12',
  title: 'Guarantees Held',
  why: 'A guarantee that was disproved where the program ran is not one that its success may rest on.',
  asks: [
    'observed is a list; each has what, held and note',
    'what is network, file_system, environment or privileges, each at most once',
    'where status is succeeded, every held is true',
  ],
  fields: ['observed'],
  reads: ['status'],
  *check({ observed, status }) {
    const repeated = firstRepeated(observed.map(({ what }) => what));
    if (repeated !== undefined) yield must(`observed[${repeated}].what`, 'stands here twice');
    if (status !== 'succeeded') return;
    for (const [index, { held }] of observed.entries()) {
      if (!held) yield must(`observed[${index}].held`, 'is false, and yet the run is said to have succeeded');
    }
  },
  breach: ({ observed, ...rest }) => ({ ...rest, observed: observed.map(entry => ({ ...entry, held: false })) }),
});

export const scriptOutcomeRules = [SO1, SO2, SO3, SO4, SO5, SO6, SO7, SO8, SO9, SO10, SO11, SO12];

const MESSAGE_BYTES_MAX = 2_000;
