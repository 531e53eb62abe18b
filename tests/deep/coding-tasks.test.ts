import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { tryCoding } from '../real-agents/coding.ts';

/** tests/real-agents/coding.test.ts runs the same tests with the real agents. */
describe('the coding tasks, with stand-in agents', () => {
  const programs = mkdtempSync(path.join(tmpdir(), 'proctor-agents-'));
  beforeAll(() => {
    for (const agent of ['claude', 'codex'] as const) placeAgent(agent, programs, true);
  });
  afterAll(() => rmSync(programs, { recursive: true, force: true }));
  tryCoding(() => programs);
});
