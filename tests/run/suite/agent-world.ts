import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { Evaluation } from '../../../src/contracts/evaluation/index.ts';
import type { SuiteRequest } from '../../../src/contracts/suite/index.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { placeAgent } from '../../../stand-ins/place-agent.ts';
import type { Ran } from './support.ts';

export const bin = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));

/** Installs both stand-ins once per test file. */
export function placeAgents(): void {
  beforeAll(() => {
    for (const agent of ['claude', 'codex'] as const) placeAgent(agent, bin);
  });
  afterAll(async () => {
    rmSync(bin, { recursive: true, force: true });
    await closeLauncher();
  });
}

export const environment = {
  PATH: `${bin}:${process.env['PATH']}`,
  ANTHROPIC_API_KEY: 'sk-a-key-of-nobody',
  // No server listens there, and the stand-ins send nothing.
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  OPENAI_API_KEY: 'sk-a-key-of-nobody',
  OPENAI_BASE_URL: 'http://127.0.0.1:9',
};

export const asked = (id: string, user: string, expected: object = {}) => ({ id, input: { user }, expected });

/** The action that sets the last message. */
export const saying = (text: string): string => `DO=final:${Buffer.from(text).toString('base64url')}`;

/** A write is denied, but the agent claims success. */
export const DENIED = `DO=deny ${saying('wrote hello.txt')}`;

export const requestIn = ({ bytes }: Pick<Ran, 'bytes'>): SuiteRequest =>
  JSON.parse(bytes('evidence/request.json').toString()) as SuiteRequest;

/** By case id: `pass`, or the verdict and what fails. */
export function verdictsIn({ bytes }: Pick<Ran, 'bytes'>): Record<string, string> {
  const { cases } = JSON.parse(bytes('evaluation.json').toString()) as Evaluation;
  return Object.fromEntries(
    cases.map(({ case_id, verdict, error_class, assertions }) => {
      const failing = assertions.filter(({ status }) => status === 'fail');
      const told = failing.map(({ name, message }) => `${name}: ${message}`);
      return [case_id, [verdict, ...(error_class === null ? [] : [error_class]), ...told].join(' | ')];
    }),
  );
}
