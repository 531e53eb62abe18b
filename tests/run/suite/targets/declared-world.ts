import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { SuiteReply } from '../../../../src/contracts/suite/index.ts';
import type { RunSuiteOptions } from '../../../../src/verbs/run-suite.ts';
import { verify } from '../../../../src/verify/index.ts';
import { temporaryFolder } from '../../../support/support.ts';
import { type Ran, ranSuite } from '../support.ts';

/** Runs a suite against a declared target, through the library. */
export async function ranDeclared(
  cases: readonly (string | object)[],
  declaration: object,
  options: Partial<RunSuiteOptions> & { readonly cwd?: string } = {},
): Promise<Ran> {
  const cwd = options.cwd ?? temporaryFolder();
  writeFileSync(path.join(cwd, 'agent.target.json'), JSON.stringify(declaration));
  return ranSuite(cases, { ...options, cwd, target: 'agent.target.json' });
}

/** The stored replies of a run, by case. */
export function repliesIn(folder: string): Record<string, SuiteReply> {
  const lines = readFileSync(path.join(folder, 'assets/replies.ndjson'), 'utf8').trimEnd().split('\n');
  return Object.fromEntries(
    lines.map(line => {
      const reply = JSON.parse(line) as SuiteReply;
      return [reply.case_id, reply];
    }),
  );
}

/** Replaces a text in every stored reply, with matching hashes, and returns the rules that the folder then breaks. */
export async function rulesAfterChange(folder: string, from: string, to: string): Promise<string[]> {
  const file = path.join(folder, 'assets/replies.ndjson');
  const lines = Object.values(repliesIn(folder)).map(reply => {
    const body = (reply.body ?? '').replaceAll(from, to);
    const sha256 = `sha256:${createHash('sha256').update(body).digest('hex')}`;
    return JSON.stringify({ ...reply, body, sha256, bytes: Buffer.byteLength(body) });
  });
  writeFileSync(file, `${lines.join('\n')}\n`);
  const rules = new Set<string>();
  for await (const { violations } of verify([folder], {})) for (const { rule_id } of violations) rules.add(rule_id);
  return [...rules];
}
