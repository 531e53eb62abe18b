import { canonicalize } from '../../base/canonical.ts';
import { parseInstant } from '../../base/clock.ts';
import { CLIMBS_OUT, holdsAbsolutePath, hostPathIn, unsafePath } from '../../base/path.ts';
import { builtInProfile } from '../profile/built-in.ts';
import { PL } from '../profile/invariants.ts';
import { OUT_OF_ORDER } from '../lists.ts';
import { type Finding, must, mustWhenStrict, NO_UNKNOWN_KEYS, rulesFor, should } from '../rule.ts';
import type { RunResult } from './shape.ts';

const rule = rulesFor<RunResult>();

const RS1 = rule({
  id: 'RS1',
  title: 'Schema Version Present',
  why: 'The version tells a reader which rules apply to a result.',
  asks: ['run_schema_version is a version 1.x.y'],
  fields: ['run_schema_version'],
  breach: result => ({ ...result, run_schema_version: '' }),
});

const RS2 = rule({
  id: 'RS2',
  title: 'Outcome Coverage',
  why: 'A reader must be able to handle every possible result.',
  asks: ['kernel_result_kind is BUNDLE, CLARIFY or REFUSE'],
  fields: ['kernel_result_kind'],
  breach: result => ({ ...result, kernel_result_kind: 'MAYBE' }),
});

const RS3 = rule({
  id: 'RS3',
  title: 'Outcome-Field Consistency',
  why: 'A refusal with a bundle, or a CLARIFY without questions, contradicts itself.',
  asks: [
    'bundle is null if and only if the result is a REFUSE',
    'clarify_questions is present if and only if the result is a CLARIFY, and has at least one entry',
    'refuse_reason is present if and only if the result is a REFUSE, and is not empty',
    'execution is null unless the result is a BUNDLE',
  ],
  fields: ['bundle', 'clarify_questions', 'refuse_reason', 'execution'],
  parts: [
    {
      over: ['kernel_result_kind', 'bundle', 'clarify_questions', 'refuse_reason', 'execution'],
      shallow: true,
      *check({ kernel_result_kind: kind, bundle, clarify_questions, refuse_reason, execution }) {
        if (kind === 'REFUSE' && bundle !== null) yield must('bundle', 'must be null for a REFUSE');
        if (kind !== 'REFUSE' && bundle === null) yield must('bundle', `must not be null for a ${kind}`);
        yield* belongsTo('CLARIFY', kind, 'clarify_questions', clarify_questions);
        yield* belongsTo('REFUSE', kind, 'refuse_reason', refuse_reason);
        if (kind !== 'BUNDLE' && execution !== null) yield must('execution', `must be null for a ${kind}`);
      },
    },
  ],
  breach: result => ({ ...result, bundle: null }),
});

const RS4 = rule({
  id: 'RS4',
  title: 'Reference Integrity',
  why: 'A reference can be verified only if it is a content hash.',
  asks: ['every hash is sha256: followed by 64 lower-case hexadecimal digits', 'bundle_id is not empty'],
  fields: [
    'bundle.bundle_id',
    'bundle.sha256',
    'intent.sha256',
    'execution.stdout_sha256',
    'execution.stderr_sha256',
    'execution.outputs[].sha256',
  ],
  breach: result => ({ ...result, intent: { ...result.intent, sha256: 'sha256:abc' } }),
});

const RS5 = rule({
  id: 'RS5',
  title: 'Policy Binding',
  why: 'The policy in a result must be identical to the profile that it names.',
  asks: [
    'policy is the built-in profile of that name, or the policy.json next to the result',
    'should: a profile that is not built in is next to the result',
  ],
  fields: ['policy'],
  *check({ policy }, { profileBeside }) {
    const bound = builtInProfile(policy.name) ?? profileBeside;
    if (bound !== undefined && canonicalize(bound) !== canonicalize(policy)) {
      yield must(
        'policy',
        builtInProfile(policy.name)
          ? 'differs from the built-in profile of the same name'
          : 'differs from the policy.json next to it',
      );
    }
    if (bound === undefined)
      yield should(
        'policy',
        'names a profile that is not built in, and there is no readable policy.json next to it to compare with',
      );
  },
  breach: result => ({ ...result, policy: { ...result.policy, timeout_ms: 61_000 } }),
});

const RS6 = rule({
  id: 'RS6',
  title: 'No Leak (Public Output)',
  why: 'A public result must not reveal the host, its folders or the user.',
  asks: [
    'intent.path and the paths of outputs are relative',
    'sandbox_path and model_io_path are absent, unless --internal',
    'no reason, question or command contains a host path',
    'should: intent.path has no .., and no command contains any absolute path',
  ],
  fields: ['intent', 'sandbox_path', 'model_io_path', 'execution.outputs[].path'],
  parts: [
    {
      over: ['intent.path'],
      *check({ intent }) {
        const reason = unsafePath(intent.path);
        // A path with .. is still relative, so the rule allows it.
        if (reason === CLIMBS_OUT) yield should('intent.path', `${reason}, which reveals the folder layout`);
        else if (reason) yield must('intent.path', reason);
      },
    },
    {
      over: ['sandbox_path', 'model_io_path'],
      *check({ sandbox_path, model_io_path }, { internal }) {
        if (!internal && sandbox_path !== undefined) yield must('sandbox_path', 'must be absent from a public result');
        if (!internal && model_io_path !== undefined)
          yield must('model_io_path', 'must be absent from a public result');
      },
    },
    {
      over: ['execution.outputs', 'execution.cmd'],
      *check({ execution }) {
        for (const [index, { path }] of (execution?.outputs ?? []).entries()) {
          const reason = unsafePath(path);
          if (reason) yield must(`execution.outputs[${index}].path`, reason);
        }
        const words = execution?.cmd ?? [];
        yield* leaks(words, 'execution.cmd');
        for (const [index, word] of words.entries()) {
          if (!hostPathIn(word) && holdsAbsolutePath(word))
            yield should(`execution.cmd[${index}]`, 'contains an absolute path');
        }
      },
    },
    { over: ['decision.reasons'], check: ({ decision }) => leaks(decision.reasons, 'decision.reasons') },
    { over: ['clarify_questions'], check: result => leaks(result.clarify_questions ?? [], 'clarify_questions') },
    {
      over: ['refuse_reason'],
      *check({ refuse_reason = '' }) {
        if (hostPathIn(refuse_reason)) yield must('refuse_reason', 'contains a host path');
      },
    },
  ],
  breach: result => ({ ...result, intent: { ...result.intent, path: '/home/someone/intent.json' } }),
});

const RS7 = rule({
  id: 'RS7',
  title: 'Canonical Output',
  why: 'Equal runs must have equal bytes, so every field has one form and every list one order.',
  asks: [
    'run_id and kernel_version are not empty; started_at and completed_at are instants in UTC',
    'outputs are sorted by path',
    'should: completed_at is not before started_at, and total_output_bytes is the sum of the outputs',
    'should (must, when strict): the bytes are canonical JSON',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['run_id', 'started_at', 'completed_at', 'kernel_version'],
  parts: [
    {
      over: ['started_at', 'completed_at'],
      *check({ started_at, completed_at }) {
        if ((parseInstant(completed_at) ?? 0) < (parseInstant(started_at) ?? 0)) {
          yield should('completed_at', 'is before started_at');
        }
      },
    },
    {
      over: ['execution'],
      *check({ execution }) {
        if (!execution) return;
        const { outputs, total_output_bytes, output_truncated } = execution;
        const outOfOrder = outputs.findIndex(({ path }, index) => index > 0 && (outputs[index - 1]?.path ?? '') > path);
        if (outOfOrder > 0) yield must(`execution.outputs[${outOfOrder}].path`, OUT_OF_ORDER);
        const sum = outputs.reduce((total, { size_bytes }) => total + size_bytes, 0);
        if (!output_truncated && sum !== total_output_bytes) {
          yield should('execution.total_output_bytes', `should be ${sum}, the sum of the outputs`);
        }
      },
    },
  ],
  breach: result => ({ ...result, run_id: '' }),
});

const RS8 = rule({
  id: 'RS8',
  title: 'Decision Consistency',
  why: 'A run is accepted if and only if it succeeded.',
  asks: [
    'if there is an execution, accepted is true if and only if its exit code is 0',
    'a CLARIFY or REFUSE is not accepted',
    'validated_by_kernel is true',
  ],
  fields: ['decision', 'execution.exit_code'],
  parts: [
    {
      over: ['decision.accepted', 'kernel_result_kind', 'execution.exit_code'],
      *check({ decision: { accepted }, kernel_result_kind: kind, execution }) {
        if (kind !== 'BUNDLE' && accepted) yield must('decision.accepted', `must be false for a ${kind}`);
        if (kind === 'BUNDLE' && execution && accepted !== (execution.exit_code === 0)) {
          yield must('decision.accepted', `must be ${!accepted}, because the exit code is ${execution.exit_code}`);
        }
      },
    },
  ],
  breach: result => ({ ...result, decision: { ...result.decision, accepted: false } }),
});

const PL4 = rule({
  ...PL.PL4,
  asks: ['model_mode is none under strict and default'],
  fields: ['model_mode'],
  reads: ['policy'],
  *check({ model_mode, policy: { name } }) {
    if (model_mode !== 'none' && (name === 'strict' || name === 'default'))
      yield must('model_mode', `must be "none" under the profile "${name}"`);
  },
  breach: result => ({ ...result, model_mode: 'record', model_io_path: 'recordings/model.json' }),
});

const PL5 = rule({
  ...PL.PL5,
  asks: [
    'model_io_path is absent if model_mode is none',
    'with --internal, it is present if model_mode is record',
    'should (must, when strict): it is absent if model_mode is replay',
  ],
  fields: [],
  reads: ['model_mode', 'model_io_path', 'policy'],
  *check({ model_mode, model_io_path }, context) {
    if (model_io_path !== undefined && model_mode === 'none')
      yield must('model_io_path', 'must be absent, because no model was recorded or replayed');
    else if (model_io_path !== undefined && model_mode === 'replay')
      yield mustWhenStrict(context, 'model_io_path', 'should be absent, because the model was replayed, not recorded');
    else if (context.internal && model_mode === 'record' && !model_io_path)
      yield must('model_io_path', 'is missing, but model_mode is "record"');
  },
  breach: result => ({ ...result, policy: devProfile, model_mode: 'record' }),
});

const PL6 = rule({
  ...PL.PL6,
  asks: ['the number of outputs and their total bytes are within the limits of the policy'],
  fields: [],
  reads: ['policy', 'execution'],
  *check({ policy, execution }) {
    if (!execution) return;
    const { outputs, total_output_bytes } = execution;
    if (outputs.length > policy.max_output_files)
      yield must(
        'execution.outputs',
        `has ${outputs.length} entries, but the policy allows ${policy.max_output_files}`,
      );
    if (total_output_bytes > policy.max_total_output_bytes) {
      yield must(
        'execution.total_output_bytes',
        `is ${total_output_bytes}, but the policy allows ${policy.max_total_output_bytes}`,
      );
    }
  },
  breach: ({ execution, ...rest }) => ({
    ...rest,
    execution: { ...execution, total_output_bytes: 52_428_801, output_truncated: true },
  }),
});

export const runResultRules = [RS1, RS2, RS3, RS4, RS5, RS6, RS7, RS8, PL4, PL5, PL6];

const devProfile = builtInProfile('dev');

function* belongsTo(owner: string, kind: string, path: string, value: unknown): Generator<Finding> {
  if (kind === owner && value === undefined) yield must(path, `is missing in a ${kind}`);
  if (kind !== owner && value !== undefined) yield must(path, `must be absent from a ${kind}`);
}

function* leaks(texts: readonly string[], path: string): Generator<Finding> {
  for (const [index, text] of texts.entries()) {
    if (hostPathIn(text)) yield must(`${path}[${index}]`, 'contains a host path');
  }
}
