import { closeSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { hasKnownEnding, interpreterOf } from '../adapters/script.ts';
import { Fault } from '../base/fault.ts';
import { Masker } from '../base/masker.ts';
import { printable } from '../base/printable.ts';
import { isForbidden } from '../contracts/runner/variables.ts';
import { bareNameTrouble } from '../contracts/script-request/bare-name.ts';
import { findProgram, isExecutable, isProgram } from '../execute/programs.ts';
import type { Requested } from '../policy/bounds.ts';
import { type Caps, capsFrom } from '../policy/caps.ts';

/** What a caller wants to be run. */
export interface ScriptOrder {
  /** The file of the script. */
  readonly script: string;
  /** Files that it finds in `input/`. */
  readonly inputs?: readonly string[];
  readonly args?: readonly string[];
  /** Variables that it sees. */
  readonly env?: Readonly<Record<string, string>>;
  /** Variables that it sees and whose values are masked wherever it says them. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly bounds?: Requested;
  readonly caps?: Partial<Caps>;
  /** Well-known credentials are stored as the script says them. Declared secrets never are. */
  readonly keepCredentials?: boolean;
}

/** An order that can be carried out as far as its own words go. */
export interface CheckedOrder {
  readonly script: { readonly source: string; readonly name: string };
  readonly inputs: readonly { readonly source: string; readonly name: string }[];
  /** The program, where a sandbox finds it, and what comes before the script. */
  readonly interpreter: { readonly name: string; readonly path: string; readonly args: readonly string[] };
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly bounds: Requested;
  readonly caps: Caps;
  readonly keepCredentials?: true;
}

/** Doubts everything that a caller can get wrong, before anything is made. */
export function checkOrder(order: ScriptOrder): CheckedOrder {
  const { script, inputs = [], args = [], env = {}, secrets = {}, bounds = {}, caps = {} } = order;
  const name = path.basename(script);
  const interpreter = interpreterFor(script, name);
  const variables = [...Object.entries(env), ...Object.entries(secrets)];
  for (const [variable] of variables) checkVariable(variable);
  const checked = checkInputs(inputs);
  checkNames([name, ...checked.map(input => input.name)], Object.values(secrets));
  checkTexts('arguments', args);
  checkTexts(
    'variables',
    variables.map(([variable, value]) => `${variable}=${value}`),
  );
  return {
    script: { source: script, name },
    inputs: checked,
    interpreter,
    args,
    env,
    secrets,
    bounds,
    caps: capsFrom(caps),
    ...(order.keepCredentials && { keepCredentials: true as const }),
  };
}

/** What Linux would not hand to a program, or our own request could not hold, is refused before anything is made. */
function checkTexts(what: string, texts: readonly string[]): void {
  const bytes = texts.map(text => Buffer.byteLength(text));
  const isTooMuch = texts.length > TEXTS_MAX || bytes.reduce((sum, size) => sum + size, 0) > TEXTS_BYTES_MAX;
  if (isTooMuch || bytes.some(size => size > TEXT_BYTES_MAX) || texts.some(text => /\0|\p{Cs}/u.test(text))) {
    throw new Fault('usage', `The ${what} for the script are too many, too long, or hold a NUL or half a character.`);
  }
}

const TEXTS_MAX = 1_000;
const TEXT_BYTES_MAX = 64 * 1024;
const TEXTS_BYTES_MAX = 768 * 1024;

function interpreterFor(script: string, name: string): CheckedOrder['interpreter'] {
  const shown = printable(name);
  const stat = lookAt(script, `The script ${shown}`);
  if (stat.isDirectory()) throw new Fault('usage', `${shown} is a folder, not a script.`);
  if (!stat.isFile()) throw new Fault('usage', `${shown} is not a regular file.`);
  if (stat.size > SCRIPT_BYTES_MAX) throw new Fault('usage', `${shown} is larger than a script may be, 16 MiB.`);
  if (bareNameTrouble(name) || RESERVED.has(name.toLowerCase())) {
    throw new Fault('usage', `A script may not be called ${shown}: the name has another meaning in the work folder.`);
  }
  const wanted = interpreterOf(name, headOf(script, shown));
  if (!wanted) {
    throw new Fault(
      'unknown_interpreter',
      `It is not known what runs ${shown}: give it a first line such as "#!/usr/bin/env python3", or an ending such as .py, .mjs, .js or .sh.`,
    );
  }
  const isPath = wanted.program.includes('/');
  const found = isPath ? (isProgram(wanted.program) ? wanted.program : undefined) : findProgram(wanted.program);
  if (found === undefined || !NAME.test(path.basename(found))) {
    const program = printable(isPath ? path.basename(wanted.program) : wanted.program);
    throw new Fault(
      'unknown_interpreter',
      `${shown} asks for ${program}, which is not installed where a sandbox could see it. proctor doctor lists what is.`,
    );
  }
  if (!hasKnownEnding(name) && !isExecutable(script)) {
    throw new Fault('usage', `${shown} is not executable. chmod +x makes it so.`);
  }
  return { name: path.basename(found), path: found, args: wanted.args };
}

export const SCRIPT_BYTES_MAX = 16 * 1024 * 1024;
const HEAD_BYTES = 1024 * 1024;

/** A program whose name a request can hold. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/;

/** What the work folder is made of. */
const RESERVED: ReadonlySet<string> = new Set(['input', 'output', 'result.json']);

function headOf(file: string, shown: string): Buffer {
  try {
    const fd = openSync(file, 'r');
    try {
      const head = Buffer.allocUnsafe(HEAD_BYTES);
      return head.subarray(0, readSync(fd, head));
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw new Fault('usage', `The script ${shown} may not be read.`, { cause });
  }
}

function checkInputs(inputs: readonly string[]): CheckedOrder['inputs'] {
  if (inputs.length > INPUTS_MAX) throw new Fault('usage', `More than ${INPUTS_MAX} inputs are too many.`);
  const names = new Set<string>();
  let bytes = 0;
  return inputs.map(source => {
    const name = path.basename(source);
    const shown = printable(name);
    const stat = lookAt(source, `The input ${shown}`, true);
    if (stat.isSymbolicLink()) throw new Fault('usage', `The input ${shown} is a link. Give the file itself.`);
    if (!stat.isFile())
      throw new Fault(
        'usage',
        stat.isDirectory()
          ? `The input ${shown} is a folder. Give its files, or an archive of it.`
          : `The input ${shown} is not a regular file.`,
      );
    bytes += stat.size;
    if (bytes > INPUT_BYTES_MAX) throw new Fault('usage', 'The inputs are too large: together at most 1 GiB.');
    const trouble = bareNameTrouble(name);
    if (trouble) throw new Fault('usage', `The name of the input ${shown} ${trouble}.`);
    const key = name.normalize('NFKC').toLowerCase();
    if (names.has(key)) throw new Fault('usage', `Two inputs are called ${shown}. Rename one.`);
    names.add(key);
    return { source, name };
  });
}

const INPUTS_MAX = 1_000;
/** Of all inputs together. */
export const INPUT_BYTES_MAX = 1024 ** 3;

function lookAt(file: string, what: string, isLinkShown = false): Stats {
  try {
    return isLinkShown ? lstatSync(file) : statSync(file);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : '';
    const why = code === 'EACCES' ? 'may not be read' : 'does not exist';
    throw new Fault('usage', `${what} ${why}.`, { cause });
  }
}

/** Names stand in the evidence as they are, where nothing can be masked. */
function checkNames(names: readonly string[], secrets: readonly string[]): void {
  const masker = new Masker(secrets);
  for (const name of names) masker.text(name);
  if (masker.masked > 0) {
    throw new Fault('usage', 'The name of the script or of an input holds the value of a secret. Rename it.');
  }
}

export function checkVariable(name: string): void {
  const shown = printable(name);
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name))
    throw new Fault('usage', `"${shown}" is not the name of a variable.`);
  if (OURS.has(name)) throw new Fault('usage', `The variable ${shown} is set by Proctor itself.`);
  if (isForbidden(name)) {
    throw new Fault(
      'usage',
      `The variable ${shown} may not enter a run: names that begin with SSH_, NPM_, GIT_, AWS_, OPENAI_ or ANTHROPIC_ are kept for credentials. Give it another name.`,
    );
  }
}

/** What every run finds in its environment, whoever calls. */
const OURS: ReadonlySet<string> = new Set(['PATH', 'HOME', 'LANG', 'TZ', 'PYTHONPATH', 'PROCTOR_TOOL', 'PROCTOR_RUN']);
