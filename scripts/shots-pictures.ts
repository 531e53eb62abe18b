const WIDE = { width: 1280, height: 720, scale: 1.25, bytesMax: 250_000 } as const;
const TALL = { width: 1280, height: 1160, scale: 1, bytesMax: 250_000 } as const;

/** The pictures in the README and docs: `npm run shots` takes them, `tests/docs.test.ts` checks them. */
export const PICTURES = [
  { file: 'docs/report.png', shot: 'case', shownIn: 'README.md', ...WIDE },
  { file: 'docs/agent-run.png', shot: 'agent', shownIn: 'docs/agents.md', ...TALL },
  { file: 'docs/coding-matrix.png', shot: 'coding', shownIn: 'docs/coding-agents.md', ...TALL },
  { file: 'docs/history.png', shot: 'history', shownIn: 'docs/suites.md', ...TALL },
  { file: 'docs/live.png', shot: 'live', shownIn: 'README.md', width: 1280, height: 800, scale: 1, bytesMax: 200_000 },
] as const;
