import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { scriptResult, type ScriptResult } from '../../src/contracts/script-result/index.ts';
import { judgedText, ROOT, temporaryFolder } from '../support/support.ts';

const HELPERS = path.join(ROOT, 'helpers');
export const PYTHON_FILE = path.join(HELPERS, 'proctor_tool.py');
export const NODE_FILE = path.join(HELPERS, 'proctor-tool.mjs');

/** The output of a tool. */
interface Left {
  readonly work: string;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  readonly result: ScriptResult;
}

/** A work folder as Proctor creates it: with input/, without output/. */
export function workFolder(inputs: Record<string, string> = {}): string {
  const work = temporaryFolder();
  mkdirSync(path.join(work, 'input'));
  for (const [name, text] of Object.entries(inputs)) writeFileSync(path.join(work, 'input', name), text);
  return work;
}

/** A tool in one language: the statements run inside the function that is passed to run(). */
type Run = (body: string, work?: string) => Promise<Left>;

export const inPython: Run = (body, work) =>
  python(
    `import os, sys, proctor_tool
def run_tool(input_dir, output_dir):
${body.replace(/^/gm, '    ')}
proctor_tool.run(run_tool)
`,
    work,
  );

export const inNode: Run = (body, work) =>
  node(
    `import fs from 'node:fs';
const { run, succeed, fail, UserError } = await import(process.env.PROCTOR_TOOL);
await run(async (inputDir, outputDir) => {
${body}
});
`,
    work,
  );

export async function python(source: string, work = workFolder(), args: readonly string[] = []): Promise<Left> {
  writeFileSync(path.join(work, 'script.py'), source);
  return left(work, '/usr/bin/python3', ['script.py', ...args]);
}

export async function node(source: string, work = workFolder(), args: readonly string[] = []): Promise<Left> {
  writeFileSync(path.join(work, 'script.mjs'), source);
  return left(work, process.execPath, ['script.mjs', ...args]);
}

/** Runs a program and checks that its result satisfies the contract, including advice. */
export async function left(work: string, program: string, args: readonly string[]): Promise<Left> {
  const ran = start(work, program, args);
  const bytes = readFileSync(path.join(work, 'result.json'));
  expect(await judgedText(scriptResult, bytes, { strict: true })).toMatchObject({
    outcome: 'valid',
    violations: [],
    advice: [],
  });
  return { work, ...ran, bytes, result: JSON.parse(bytes.toString('utf8')) as ScriptResult };
}

/** Starts a program as Proctor does: in the work folder, with the helpers available. */
export function start(work: string, program: string, args: readonly string[]) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: work,
    env: {
      PATH: '/usr/bin:/bin',
      LANG: 'C.UTF-8',
      PYTHONPATH: HELPERS,
      PYTHONDONTWRITEBYTECODE: '1',
      PROCTOR_TOOL: NODE_FILE,
    },
    encoding: 'utf8',
    timeout: 50_000,
    maxBuffer: 16 * 1024 * 1024,
  });
  if (error) throw error;
  return { code: status, stdout, stderr };
}

export const hasResult = (work: string): boolean => existsSync(path.join(work, 'result.json'));

/** The incomplete file next to a result, which no tool may leave behind. */
export const temporaries = (work: string): string[] => readdirSync(work).filter(name => name.endsWith('.tmp'));
