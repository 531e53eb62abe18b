import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { filledText, record, relativePath } from '../shape.ts';
import { inside } from './paths.ts';

/** The dimensions with a single value, from strictest to loosest. */
export const POSTURES = {
  execution_posture: ['read_only', 'workspace_write'],
  network_posture: ['deny', 'allow'],
  approval_posture: ['fail_on_prompt', 'deny_interactive', 'bounded_auto_approve'],
} as const;

export const POSTURE_NAMES = ['execution_posture', 'network_posture', 'approval_posture'] as const;

export const DIMENSIONS = [...POSTURE_NAMES, 'allowed_paths', 'forbidden_paths', 'forbidden_operations'] as const;

/**
 * The policy that the caller requests. A null or absent posture means the strictest. Null or absent allowed_paths mean the
 * whole work tree; an empty list allows none.
 */
export const requestedPolicyShape = record({
  execution_posture: z.optional(z.nullable(z.enum(POSTURES.execution_posture))),
  network_posture: z.optional(z.nullable(z.enum(POSTURES.network_posture))),
  approval_posture: z.optional(z.nullable(z.enum(POSTURES.approval_posture))),
  allowed_paths: z.optional(z.nullable(z.array(relativePath()))),
  forbidden_paths: z.optional(z.nullable(z.array(relativePath()))),
  forbidden_operations: z.optional(z.nullable(z.array(filledText()))),
  policy_reference: z.optional(z.nullable(filledText())),
});

/** The enforced policy, with all dimensions set. */
export const effectivePolicyShape = record({
  execution_posture: z.enum(POSTURES.execution_posture),
  network_posture: z.enum(POSTURES.network_posture),
  approval_posture: z.enum(POSTURES.approval_posture),
  allowed_paths: z.array(relativePath()),
  forbidden_paths: z.array(relativePath()),
  forbidden_operations: z.array(filledText()),
  policy_reference: z.optional(z.nullable(filledText())),
});

export const POLICY_ASKS = [
  'execution_posture is read_only or workspace_write',
  'network_posture is deny or allow',
  'approval_posture is fail_on_prompt, deny_interactive or bounded_auto_approve',
  'allowed_paths and forbidden_paths are lists of strings',
  'forbidden_operations is a list of non-empty strings',
  'policy_reference is a non-empty string',
] as const;

export type RequestedPolicy = z.infer<typeof requestedPolicyShape>;
export type EffectivePolicy = z.infer<typeof effectivePolicyShape>;

/** Finds where the effective policy is looser than the requested one. */
export function* loosened(requested: RequestedPolicy, effective: EffectivePolicy): Generator<Finding> {
  for (const dimension of POSTURE_NAMES) {
    const fromStrict: readonly string[] = POSTURES[dimension];
    const asked = requested[dimension] ?? POSTURES[dimension][0];
    if (fromStrict.indexOf(effective[dimension]) > fromStrict.indexOf(asked)) {
      yield must(`effective.${dimension}`, 'is looser than requested');
    }
  }

  const isRequested = inside(requested.allowed_paths ?? ['.']);
  for (const [index, path] of effective.allowed_paths.entries()) {
    if (!isRequested(path)) yield must(`effective.allowed_paths[${index}]`, 'is outside the requested paths');
  }

  const isForbidden = inside(effective.forbidden_paths);
  for (const [index, path] of (requested.forbidden_paths ?? []).entries()) {
    if (!isForbidden(path)) yield must('effective.forbidden_paths', `must cover requested.forbidden_paths[${index}]`);
  }

  const operations = new Set(effective.forbidden_operations);
  for (const [index, operation] of (requested.forbidden_operations ?? []).entries()) {
    if (!operations.has(operation)) {
      yield must('effective.forbidden_operations', `must include requested.forbidden_operations[${index}]`);
    }
  }
}
