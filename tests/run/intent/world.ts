import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import { check } from '../../../src/contracts/check.ts';
import type { Intent } from '../../../src/contracts/intent/index.ts';
import { builtInProfiles, type Profile } from '../../../src/contracts/profile/index.ts';
import { runError } from '../../../src/contracts/run-error/index.ts';
import { type RunResult, runResult } from '../../../src/contracts/run-result/index.ts';
import { type Asked, decideIntent, type IntentDecision } from '../../../src/run/intent/decide.ts';
import { judgedIntent } from '../../../src/run/intent/read-intent.ts';
import { runErrorOf } from '../../../src/verbs/run-error.ts';
import { type IntentRunResult, runIntent, type RunIntentOptions } from '../../../src/verbs/run-intent.ts';
import { verify } from '../../../src/verify/index.ts';
import { temporaryFolder } from '../../support/support.ts';

export const STRICT = builtInProfiles.strict;

/** A custom profile. */
export const own = (changes: Partial<Profile> = {}): Profile => ({ ...STRICT, name: 'mine', ...changes });

/** A command that every profile allows. */
export const node = (code: string, ...args: string[]): { argv: string[] } => ({ argv: ['node', '-e', code, ...args] });

/** A Node program with `fs` in scope. */
export const writes = (code: string): { argv: string[] } => node(`const fs = require('node:fs'); ${code}`);

/** Checks an intent, and decides it. */
export function decided(intent: unknown, asked: Partial<Omit<Asked, 'intent'>> = {}): IntentDecision {
  return decideIntent({ intent: judgedIntent(intent), answers: {}, mode: 'plan-only', profile: STRICT, ...asked });
}

export const questionsIn = (decision: IntentDecision): readonly string[] =>
  decision.kind === 'CLARIFY' ? decision.questions.map(text => text.slice(0, text.indexOf(': '))) : [];

export const refusalsIn = (decision: IntentDecision): readonly string[] =>
  decision.kind === 'REFUSE' ? decision.refusals : [];

/** The fault that prevents a decision: `code: message`. */
export function fault(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return toldOf(error);
  }
  return 'none';
}

/** A fault as a run error document, which must satisfy its contract. */
export function toldOf(error: unknown): string {
  const document = runErrorOf(error);
  expect(check(runError, document, { strict: true, internal: false }).violations).toEqual([]);
  return `${document.code}: ${document.message}`;
}

/** Runs an intent from a file in a new folder, and checks that the evidence is valid. */
export async function ran(
  intent: unknown,
  options: Partial<RunIntentOptions> & { readonly name?: string } = {},
): Promise<IntentRunResult> {
  const { name = 'intent.json', ...rest } = options;
  const cwd = rest.cwd ?? temporaryFolder();
  const file = path.join(cwd, name);
  writeFileSync(file, typeof intent === 'string' ? intent : JSON.stringify(intent));
  const answer = await runIntent({ intent: file, mode: 'execute-sandbox', policy: 'strict', ...rest, cwd });
  await expectSound(answer);
  return answer;
}

/** The folder passes strict verification, and the result is the stored one. */
export async function expectSound({ folder, result }: Pick<IntentRunResult, 'folder' | 'result'>): Promise<void> {
  expect(await strictTroubles(folder)).toEqual([]);
  expect(readFileSync(path.join(folder, 'run.json'), 'utf8')).toBe(canonicalize(result));
  const policy = JSON.parse(readFileSync(path.join(folder, 'policy.json'), 'utf8')) as Profile;
  const { violations } = check(runResult, result, { strict: true, internal: false, profileBeside: policy });
  expect(violations).toEqual([]);
}

export async function strictTroubles(folder: string): Promise<string[]> {
  const troubles: string[] = [];
  for await (const { violations, reason } of verify([folder], { strict: true })) {
    for (const { rule_id, path: at, message } of violations) troubles.push(`${rule_id} ${at ?? ''} ${message}`);
    if (reason) troubles.push(reason.code);
  }
  return troubles;
}

/** The part that equal runs share. */
export function canonicalPart(result: RunResult): string {
  const { run_id: _, started_at: __, completed_at: ___, ...rest } = result;
  return canonicalize(rest);
}

/** The stdout of the commands. */
export const saidIn = (folder: string, stream: 'stdout' | 'stderr' = 'stdout'): string =>
  readFileSync(path.join(folder, 'evidence/steps/intent', `${stream}.txt`), 'utf8');

/** A recording of these prompts and answers. */
export function recording(answers: readonly (readonly [prompt: string, answer: string])[]): object {
  return {
    model_io_schema_version: '1.0.0',
    adapter_id: 'planner',
    model_id: 'a-model',
    mode: 'record',
    interactions: answers.map(([prompt, answer], i) => ({
      i,
      prompt_hash: bytesHash(prompt),
      response_hash: bytesHash(answer),
      response_content: answer,
    })),
  };
}

export const GOAL: Intent = { schema_version: 'intent.v1', goal: 'Say something' };
