import path from 'node:path';

/** The program that runs a script, as its first line or the end of its name asks for it. */
export interface Interpreter {
  /** A bare name, or the full path that the first line gives. */
  readonly program: string;
  readonly args: readonly string[];
}

/** Which interpreter a script asks for; undefined if it does not say. Its text need not be whole. */
export function interpreterOf(fileName: string, text: Uint8Array): Interpreter | undefined {
  const interpreter = byFirstLine(text) ?? byEnding(fileName);
  if (!interpreter || !path.posix.basename(interpreter.program).startsWith('python') || !isBareTool(text))
    return interpreter;
  return { ...interpreter, args: [...interpreter.args, '-m', 'proctor_tool'] };
}

/** A file that defines `run_tool` and never calls it, as tools of other systems do: our helper calls it. */
function isBareTool(text: Uint8Array): boolean {
  const source = Buffer.from(text).toString();
  return /^def run_tool\s*\(/m.test(source) && !/\bproctor_tool\b|\b__name__\b|^run_tool\s*\(/m.test(source);
}

/** `#!/usr/bin/env -S node --no-warnings`, `#!/bin/bash -e`. */
function byFirstLine(head: Uint8Array): Interpreter | undefined {
  if (head[0] !== 0x23 || head[1] !== 0x21) return undefined;
  // A NUL ends the line as it does for Linux; as a part of a word it would make a program that nobody can start.
  const [line = ''] = Buffer.from(head.subarray(2, LINE_BYTES_MAX))
    .toString()
    .split(/\r?\n|\0/);
  const [program = '', ...args] = line.trim().split(/[ \t]+/);
  if (path.posix.basename(program) !== 'env') return program === '' ? undefined : { program, args };
  const words = args[0] === '-S' ? args.slice(1) : args;
  const [name, ...rest] = words;
  return name === undefined ? undefined : { program: name, args: rest };
}

/** What Linux reads of a first line. */
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

/** Endings that say what a script is written in, whether or not its file may be executed. */
export function hasKnownEnding(fileName: string): boolean {
  return byEnding(fileName) !== undefined;
}
