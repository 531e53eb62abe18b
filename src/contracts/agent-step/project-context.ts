import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { contentHashText, count, record, relativePath } from '../shape.ts';
import { STEP_ASKS } from './words.ts';

/** Instruction files for agents in the commit that the agent worked on. */
export const projectContextShape = record({
  state: z.enum(['offered', 'left_out']),
  total: count(),
  files: z.array(record({ path: relativePath(), sha256: contentHashText(), bytes: count() })),
});

export type ProjectContextNote = z.infer<typeof projectContextShape>;

export const CONTEXT_FILES_MAX = 200;

export const PROJECT_CONTEXT_ASKS = [
  'project_context, if present, has state, total and files; each file has path, sha256 and bytes',
  "state is offered (the agent's program was configured to read these files) or left_out",
  'path is a relative path',
  ...STEP_ASKS.relativePath,
  `files lists all files, up to ${CONTEXT_FILES_MAX}`,
  'total is 0 if state is left_out',
];

export function* projectContextFindings(context: ProjectContextNote | undefined): Generator<Finding> {
  if (!context) return;
  const { state, total, files } = context;
  if (files.length !== Math.min(total, CONTEXT_FILES_MAX))
    yield must('project_context.files', `must list all files, up to ${CONTEXT_FILES_MAX}`);
  if (state === 'left_out' && total !== 0) yield must('project_context.total', 'must be 0 if state is "left_out"');
}

export const PROJECT_CONTEXT_EXAMPLE: ProjectContextNote = {
  state: 'offered',
  total: 1,
  files: [
    {
      path: 'CLAUDE.md',
      sha256: 'sha256:1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c45f',
      bytes: 812,
    },
  ],
};
