import path from 'node:path';

/** The program that runs a script. */
export interface Interpreter {
  /** A name to look up, or the full path from the shebang line. */
  readonly program: string;
  readonly args: readonly string[];
}

/** The interpreter from the shebang line or the file extension, if any. `text` may be truncated. */
export function interpreterOf(fileName: string, text: Uint8Array): Interpreter | undefined {
  const interpreter = byFirstLine(text) ?? byEnding(fileName);
  if (!interpreter || !path.posix.basename(interpreter.program).startsWith('python') || !isBareTool(text))
    return interpreter;
  return { ...interpreter, args: [...interpreter.args, '-m', 'proctor_tool'] };
}

/** A file that defines `run_tool` but never calls it, as tools for other systems do. Proctor's helper calls it. */
function isBareTool(text: Uint8Array): boolean {
  const source = Buffer.from(text).toString();
  return /^def run_tool\s*\(/m.test(source) && !/\bproctor_tool\b|\b__name__\b|^run_tool\s*\(/m.test(source);
}

/** `#!/usr/bin/env -S node --no-warnings`, `#!/bin/bash -e`. */
function byFirstLine(head: Uint8Array): Interpreter | undefined {
  if (head[0] !== 0x23 || head[1] !== 0x21) return undefined;
  // As on Linux, a NUL ends the line. A program whose name contains one could not start.
  const [line = ''] = Buffer.from(head.subarray(2, LINE_BYTES_MAX))
    .toString()
    .split(/\r?\n|\0/);
  const [program = '', ...args] = line.trim().split(/[ \t]+/);
  if (path.posix.basename(program) !== 'env') return program === '' ? undefined : { program, args };
  const words = args[0] === '-S' ? args.slice(1) : args;
  const [name, ...rest] = words;
  return name === undefined ? undefined : { program: name, args: rest };
}

/** Linux reads at most this much of a shebang line. */
const LINE_BYTES_MAX = 256;

function byEnding(fileName: string): Interpreter | undefined {
  const program = ENDINGS[path.extname(fileName).toLowerCase()];
  return program === undefined ? undefined : { program, args: [] };
}

const ENDINGS: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.mjs': 'node',
  '.js': 'node',
  '.cjs': 'node',
  '.sh': 'sh',
};

/** Whether the extension alone selects an interpreter, so the file need not be executable. */
export function hasKnownEnding(fileName: string): boolean {
  return byEnding(fileName) !== undefined;
}
