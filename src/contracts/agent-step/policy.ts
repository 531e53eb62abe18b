import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { filledText, record, relativePath } from '../shape.ts';

/** The dimensions that have one value each, from the strictest to the loosest. */
export const POSTURES = {
  execution_posture: ['read_only', 'workspace_write'],
  network_posture: ['deny', 'allow'],
  approval_posture: ['fail_on_prompt', 'deny_interactive', 'bounded_auto_approve'],
} as const;

const POSTURE_NAMES = ['execution_posture', 'network_posture', 'approval_posture'] as const;

export const DIMENSIONS = [...POSTURE_NAMES, 'allowed_paths', 'forbidden_paths', 'forbidden_operations'] as const;

/**
 * What the caller asks. A posture that is null or absent asks for the strictest; paths that are null or absent ask for
 * the whole work folder, and an empty list allows none.
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

/** What was enforced. Here every dimension is decided. */
export const effectivePolicyShape = record({
  execution_posture: z.enum(POSTURES.execution_posture),
  network_posture: z.enum(POSTURES.network_posture),
  approval_posture: z.enum(POSTURES.approval_posture),
  allowed_paths: z.array(relativePath()),
  forbidden_paths: z.array(relativePath()),
  forbidden_operations: z.array(filledText()),
  policy_reference: z.optional(z.nullable(filledText())),
});

/** What a rule asks of the keys of both. */
export const POLICY_ASKS = [
  'execution_posture is read_only or workspace_write',
  'network_posture is deny or allow',
  'approval_posture is fail_on_prompt, deny_interactive or bounded_auto_approve',
  'allowed_paths and forbidden_paths are lists of strings',
  'forbidden_operations is a list of strings that are not empty',
  'policy_reference is a string that is not empty',
] as const;

export type RequestedPolicy = z.infer<typeof requestedPolicyShape>;
export type EffectivePolicy = z.infer<typeof effectivePolicyShape>;

/** Where the effective policy allows more than was requested. */
export function* loosened(requested: RequestedPolicy, effective: EffectivePolicy): Generator<Finding> {
  for (const dimension of POSTURE_NAMES) {
    const fromStrict: readonly string[] = POSTURES[dimension];
    const asked = requested[dimension] ?? POSTURES[dimension][0];
    if (fromStrict.indexOf(effective[dimension]) > fromStrict.indexOf(asked)) {
      yield must(`effective.${dimension}`, 'is looser than what was requested');
    }
  }

  const isRequested = inside(requested.allowed_paths ?? ['.']);
  for (const [index, path] of effective.allowed_paths.entries()) {
    if (!isRequested(path))
      yield must(`effective.allowed_paths[${index}]`, 'lies outside all paths that were requested');
  }

  const isForbidden = inside(effective.forbidden_paths);
  for (const [index, path] of (requested.forbidden_paths ?? []).entries()) {
    if (!isForbidden(path)) yield must('effective.forbidden_paths', `must cover requested.forbidden_paths[${index}]`);
  }

  const operations = new Set(effective.forbidden_operations);
  for (const [index, operation] of (requested.forbidden_operations ?? []).entries()) {
    if (!operations.has(operation)) {
      yield must('effective.forbidden_operations', `must hold requested.forbidden_operations[${index}]`);
    }
  }
}

/** A tree of path segments. One that ends a root covers all that lies below it. */
interface Branch {
  isRoot: boolean;
  readonly below: Map<string, Branch>;
}

/** Tells whether a path equals one of the roots or lies below it, in time that grows with the path alone. */
export function inside(roots: readonly string[]): (path: string) => boolean {
  const tree: Branch = { isRoot: false, below: new Map() };
  for (const root of roots) {
    let branch = tree;
    for (const segment of segmentsOf(root)) {
      let next = branch.below.get(segment);
      if (!next) branch.below.set(segment, (next = { isRoot: false, below: new Map() }));
      branch = next;
    }
    branch.isRoot = true;
  }
  return path => {
    let branch: Branch | undefined = tree;
    for (const segment of segmentsOf(path)) {
      if (branch.isRoot) return true;
      branch = branch.below.get(segment);
      if (!branch) return false;
    }
    return branch.isRoot;
  };
}

/** `./src/a` and `src\a` are the same path as `src/a`; `.` alone is the whole work folder. */
function segmentsOf(path: string): string[] {
  return path.split(/[/\\]/).filter(segment => segment !== '.');
}
