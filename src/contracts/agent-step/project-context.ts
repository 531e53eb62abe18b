import * as z from 'zod/mini';
import { type Finding, must } from '../rule.ts';
import { contentHashText, count, record, relativePath } from '../shape.ts';
import { ASKS } from './words.ts';

/** The project's instructions for agents, as files of the commit that the agent worked on. */
export const projectContextShape = record({
  state: z.enum(['offered', 'left_out']),
  total: count(),
  files: z.array(record({ path: relativePath(), sha256: contentHashText(), bytes: count() })),
});

export type ProjectContextNote = z.infer<typeof projectContextShape>;

/** How many files are listed. */
export const CONTEXT_FILES_MAX = 200;

export const PROJECT_CONTEXT_ASKS = [
  'project_context, if present, has state, total and files; each file has path, sha256 and bytes',
  'state is offered (the program of the agent was set up to read these files) or left_out',
  'path is a relative path',
  ...ASKS.relativePath,
  `files lists all, or the first ${CONTEXT_FILES_MAX}`,
  'total is 0 where state is left_out',
];

export function* doubtProjectContext(context: ProjectContextNote | undefined): Generator<Finding> {
  if (!context) return;
  const { state, total, files } = context;
  if (files.length !== Math.min(total, CONTEXT_FILES_MAX))
    yield must('project_context.files', 'is not as long as its total asks for');
  if (state === 'left_out' && total !== 0) yield must('project_context.total', 'must be 0 where it was left out');
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
