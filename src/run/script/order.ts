import { closeSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { hasKnownEnding, interpreterOf } from '../../adapters/script.ts';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../base/fault.ts';
import { Masker } from '../../base/masker.ts';
import { printable } from '../../base/printable.ts';
import { formOf } from '../../contracts/form.ts';
import { type PublishedVersion, publishedVersion } from '../../contracts/published-script/shape.ts';
import { isForbidden } from '../../contracts/runner/variables.ts';
import { bareNameFault } from '../../contracts/script-request/bare-name.ts';
import { findProgram, isExecutable, isProgram } from '../../execute/host/programs.ts';
import type { Requested } from '../../policy/effective-limits.ts';
import { type Caps, capsFrom } from '../../policy/caps.ts';

/** A script to run, as the caller describes it. */
export interface ScriptOrder {
  readonly script: string;
  /** Files that are copied to `input/`. */
  readonly inputs?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Environment variables whose values are masked in everything that is stored. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly bounds?: Requested;
  readonly caps?: Partial<Caps>;
  /** Store well-known credentials unmasked. Declared secrets are always masked. */
  readonly keepCredentials?: boolean;
  /** The id of the run, if the caller had to name it before the start. */
  readonly runId?: string;
  /** The version of a published script that the run belongs to. */
  readonly published?: PublishedVersion;
}

/** An order that passed every check that does not depend on the machine's limits. */
export interface CheckedOrder {
  readonly script: { readonly source: string; readonly name: string };
  readonly inputs: readonly { readonly source: string; readonly name: string }[];
  /** The program as the sandbox sees it, and the arguments before the script. */
  readonly interpreter: { readonly name: string; readonly path: string; readonly args: readonly string[] };
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly bounds: Requested;
  readonly caps: Caps;
  readonly keepCredentials?: true;
  readonly runId?: string;
  readonly published?: PublishedVersion;
}

/** Checks everything that a caller can get wrong, before anything is created. */
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
    ...defined({ runId: checkedId(order.runId), published: checkedVersion(order.published) }),
  };
}

function checkedId(id: string | undefined): string | undefined {
  if (id === undefined || SCRIPT_RUN_ID.test(id)) return id;
  throw new Fault('usage', 'The id of a script run must look like script_20260106_120000_4f1c9a7be210.');
}

function checkedVersion(version: PublishedVersion | undefined): PublishedVersion | undefined {
  if (version === undefined || formOf(publishedVersion).fits(version)) return version;
  throw new Fault('usage', 'published must have the name, the version and the digest of a published script.');
}

const SCRIPT_RUN_ID = /^script_\d{8}_\d{6}_[0-9a-f]{12}$/;

/** Refuses strings that Linux cannot pass to a program, or that a request document cannot contain. */
function checkTexts(what: string, texts: readonly string[]): void {
  const bytes = texts.map(text => Buffer.byteLength(text));
  const isTooMuch = texts.length > TEXTS_MAX || bytes.reduce((sum, size) => sum + size, 0) > TEXTS_BYTES_MAX;
  if (isTooMuch || bytes.some(size => size > TEXT_BYTES_MAX) || texts.some(text => /\0|\p{Cs}/u.test(text))) {
    throw new Fault(
      'usage',
      `The script has too many ${what}, or one is too long or contains a NUL or half a surrogate pair.`,
    );
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
  if (stat.size > SCRIPT_BYTES_MAX)
    throw new Fault('usage', `${shown} is too large. The limit for a script is 16 MiB.`);
  const trouble = bareNameFault(name);
  if (trouble) throw new Fault('usage', `The name of the script ${shown} ${trouble}.`);
  if (RESERVED.has(name.toLowerCase()))
    throw new Fault('usage', `A script cannot be named ${shown}: the work folder reserves that name.`);
  const wanted = interpreterOf(name, headOf(script, shown));
  if (!wanted) {
    throw new Fault(
      'unknown_interpreter',
      `Proctor does not know which program runs ${shown}. Add a first line such as "#!/usr/bin/env python3", or an extension such as .py, .mjs, .js or .sh.`,
    );
  }
  const isPath = wanted.program.includes('/');
  const found = isPath ? (isProgram(wanted.program) ? wanted.program : undefined) : findProgram(wanted.program);
  if (found === undefined || !NAME.test(path.basename(found))) {
    const program = printable(isPath ? path.basename(wanted.program) : wanted.program);
    throw new Fault(
      'unknown_interpreter',
      `${shown} requires ${program}, which is not installed where the sandbox can see it. Run proctor doctor to list what is, or write the full path of ${program} in the first line.`,
    );
  }
  if (!hasKnownEnding(name) && !isExecutable(script)) {
    throw new Fault('usage', `${shown} is not executable. Run chmod +x.`);
  }
  return { name: path.basename(found), path: found, args: wanted.args };
}

export const SCRIPT_BYTES_MAX = 16 * 1024 * 1024;
const HEAD_BYTES = 1024 * 1024;

/** Program names that a request document can contain. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/;

/** Names that Proctor uses in the work folder. */
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
    throw new Fault('usage', `The script ${shown} cannot be read.`, { cause });
  }
}

function checkInputs(inputs: readonly string[]): CheckedOrder['inputs'] {
  if (inputs.length > INPUTS_MAX) throw new Fault('usage', `A script may have at most ${INPUTS_MAX} inputs.`);
  const names = new Set<string>();
  let bytes = 0;
  return inputs.map(source => {
    const name = path.basename(source);
    const shown = printable(name);
    const stat = lookAt(source, `The input ${shown}`, true);
    if (stat.isSymbolicLink()) throw new Fault('usage', `The input ${shown} is a symlink. Pass the file itself.`);
    if (!stat.isFile())
      throw new Fault(
        'usage',
        stat.isDirectory()
          ? `The input ${shown} is a folder. Pass its files, or an archive.`
          : `The input ${shown} is not a regular file.`,
      );
    bytes += stat.size;
    if (bytes > INPUT_BYTES_MAX)
      throw new Fault('usage', 'The inputs are too large. The limit for all inputs together is 1 GiB.');
    const trouble = bareNameFault(name);
    if (trouble) throw new Fault('usage', `The name of the input ${shown} ${trouble}.`);
    const key = name.normalize('NFKC').toLowerCase();
    if (names.has(key)) throw new Fault('usage', `Two inputs are named ${shown}. Rename one.`);
    names.add(key);
    return { source, name };
  });
}

const INPUTS_MAX = 1_000;
/** The limit for all inputs together. */
export const INPUT_BYTES_MAX = 1024 ** 3;

function lookAt(file: string, what: string, isLinkShown = false): Stats {
  try {
    return isLinkShown ? lstatSync(file) : statSync(file);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : '';
    const why = code === 'EACCES' ? 'cannot be read' : 'does not exist';
    throw new Fault('usage', `${what} ${why}.`, { cause });
  }
}

/** File names appear unmasked in the evidence. */
function checkNames(names: readonly string[], secrets: readonly string[]): void {
  const masker = new Masker(secrets);
  for (const name of names) masker.text(name);
  if (masker.masked > 0) {
    throw new Fault('usage', 'The name of the script or of an input contains a secret. Rename it.');
  }
}

export function checkVariable(name: string): void {
  const shown = printable(name);
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name))
    throw new Fault('usage', `"${shown}" is not a valid variable name.`);
  if (OURS.has(name)) throw new Fault('usage', `Proctor sets the variable ${shown} itself.`);
  if (isForbidden(name)) {
    throw new Fault(
      'usage',
      `The variable ${shown} cannot be passed to a run: names that begin with SSH_, NPM_, GIT_, AWS_, OPENAI_ or ANTHROPIC_ are reserved for credentials. Rename it.`,
    );
  }
}

/** Variables that Proctor sets for every run. */
const OURS: ReadonlySet<string> = new Set(['PATH', 'HOME', 'LANG', 'TZ', 'PYTHONPATH', 'PROCTOR_TOOL', 'PROCTOR_RUN']);
