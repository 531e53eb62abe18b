/**
 * Writes result.json for a script that Proctor runs.
 *
 *     const { run } = await import(process.env.PROCTOR_TOOL);
 *     await run(async (inputDir, outputDir) => '<p>Done.</p>');
 *
 * One file, nothing to install, Node 20 or newer.
 */
import { randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, opendirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';

/** An error that was foreseen. Its message is shown to the people who use the tool, so it names no path and no secret. */
export class UserError extends Error {
  name = 'UserError';
}

/**
 * Calls runTool(inputDir, outputDir) and makes result.json from what it returns or throws. A failure ends the script at
 * once; after a success it ends as Node scripts do, when nothing is left to wait for.
 *
 * @param {(inputDir: string, outputDir: string) => unknown} runTool
 */
export async function run(runTool) {
  watch();
  try {
    mkdirSync(OUTPUT, { recursive: true });
    outcome = { html: htmlFrom(await runTool(INPUT, OUTPUT)) };
  } catch (error) {
    broke(error);
  }
}

/** Makes a result that succeeded, and ends the script. */
export function succeed(html = '') {
  watch();
  try {
    outcome = { html: htmlFrom(html) };
  } catch (error) {
    broke(error);
  }
  process.exit(0);
}

/**
 * Makes a result that failed, with a message for people, and ends the script.
 *
 * @param {unknown} message
 */
export function fail(message) {
  watch();
  failed(message instanceof Error ? message.message : String(message));
}

// Taken when the module is loaded: a tool may change its working folder before it ends.
const WORK = process.cwd();
const INPUT = path.join(WORK, 'input');
const OUTPUT = path.join(WORK, 'output');

// The contract allows a result.json of 1 MiB and 2,000 artifacts; text beyond these sizes would be cut by Proctor anyway.
const RESULT_BYTES_MAX = 1_048_576;
const HTML_BYTES_MAX = 500_000;
const SUMMARY_BYTES_MAX = 2_000;
const ARTIFACTS_MAX = 2_000;
const ARTIFACTS_BYTES_MAX = 400_000;
const ENTRIES_MAX = 100_000;

/** What the result will say, once it is known. @type {{ html: string } | { summary: string } | undefined} */
let outcome;
let watching = false;

/**
 * The result is written when the process ends, whoever ends it: only then all files are there, and a tool that calls
 * process.exit, or fails somewhere that nobody waits for, leaves a result like any other.
 */
function watch() {
  if (watching) return;
  watching = true;
  process.on('unhandledRejection', broke);
  process.on('uncaughtException', broke);
  process.on('beforeExit', () => {
    if (!outcome) failed('The tool stopped before it was finished.');
  });
  process.on('exit', code => {
    const ended = endedWith(code);
    try {
      write(resultOf(ended));
      process.exitCode = 'html' in ended ? 0 : 1;
    } catch (error) {
      note(`result.json could not be written (${nameOf(error)})`);
      process.exitCode = 1;
    }
  });
}

/** An exit code that says otherwise wins over a success: nobody shall read "succeeded" of a run that Proctor calls failed. */
function endedWith(code) {
  if (outcome && 'summary' in outcome) return outcome;
  // Node's own code for a script whose top-level await can never end.
  if (code === 13 && !outcome) return { summary: 'The tool stopped before it was finished.' };
  if (code !== 0) return { summary: `The tool ended with exit code ${code}.` };
  return outcome ?? { html: '' };
}

function broke(error) {
  try {
    // What was foreseen needs no trace.
    process.stderr.write(`${error instanceof UserError ? error.message : inspect(error)}\n`);
  } catch {
    note('the error could not be printed');
  }
  failed(error instanceof UserError ? error.message : `The tool failed (${nameOf(error)}).`);
}

function failed(summary) {
  outcome = { summary: String(summary) };
  process.exit(1);
}

function htmlFrom(value) {
  let html = value;
  if (isRecord(value)) {
    const used = Object.hasOwn(value, 'html') ? 'html' : 'html_output';
    const ignored = Object.keys(value).filter(key => key !== used).length;
    if (ignored > 0)
      note(`ignored ${ignored} other ${ignored === 1 ? 'key' : 'keys'} of the object that the tool returned`);
    html = value[used];
  }
  if (html === undefined || html === null) return '';
  if (typeof html === 'string') return html;
  const kind = typeof html === 'object' ? nameOf(html) : typeof html;
  throw new UserError(`The tool returned a value of type ${kind} instead of HTML text.`);
}

function isRecord(value) {
  if (typeof value !== 'object' || value === null) return false;
  const parent = Object.getPrototypeOf(value);
  return parent === Object.prototype || parent === null;
}

/** The name of a value's class. Its author chose it and people will read it, so one that is more than a name is not shown. */
function nameOf(value) {
  try {
    const { name } = value.constructor;
    return /^[A-Za-z0-9_.]{1,80}$/.test(name) && typeof value === 'object' ? name : 'Error';
  } catch {
    return 'Error';
  }
}

/** The text of result.json: canonical JSON, so that equal results are equal files. */
function resultOf(ended) {
  const isSuccess = 'html' in ended;
  const summary = isSuccess ? null : cut(ended.summary.toWellFormed(), SUMMARY_BYTES_MAX).trim() || 'The tool failed.';
  const html = isSuccess ? ended.html.toWellFormed() : '';
  const artifacts = artifactsOf(OUTPUT);
  let shown = cut(html, HTML_BYTES_MAX);
  // The keys stand in the order that canonical JSON asks for.
  const textWith = html_output =>
    JSON.stringify({
      artifacts,
      contract_version: 1,
      error_summary: summary,
      html_output,
      status: isSuccess ? 'succeeded' : 'failed',
    });
  let text = textWith(shown);
  // JSON writes quotes and control characters longer than they are, so 500,000 bytes of HTML may be too many.
  for (let bytes = Buffer.byteLength(text); bytes > RESULT_BYTES_MAX; bytes = Buffer.byteLength(text)) {
    shown = cut(shown, Math.floor((Buffer.byteLength(shown) * RESULT_BYTES_MAX) / bytes));
    text = textWith(shown);
  }
  if (shown !== html) note(`the HTML was cut to ${Buffer.byteLength(shown)} bytes`);
  return text;
}

function cut(text, bytesMax) {
  // As a stream that goes on, so that a character cut in half is left out and not replaced.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, bytesMax), {
    stream: true,
  });
}

/** Whole or not at all: a script that is killed meanwhile leaves no half of a result. */
function write(text) {
  const temporary = path.join(WORK, `.result-${randomUUID()}.tmp`);
  try {
    writeFileSync(temporary, text, { flag: 'wx', mode: 0o644 });
    renameSync(temporary, path.join(WORK, 'result.json'));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The regular files below output/, sorted. A hint for people: Proctor looks at the folder itself. */
function artifactsOf(output) {
  const all = [...filesBelow(output)];
  // Sorted by UTF-16 code unit, as everything of Proctor's is.
  const found = all.filter(file => isFit(file.path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  let artifacts = found.slice(0, ARTIFACTS_MAX);
  while (artifacts.length > 0 && Buffer.byteLength(JSON.stringify(artifacts)) > ARTIFACTS_BYTES_MAX)
    artifacts = artifacts.slice(0, Math.floor((artifacts.length * 9) / 10));
  if (artifacts.length < found.length)
    note(`result.json lists ${artifacts.length} of ${found.length} files in output/`);
  if (found.length < all.length)
    note(`result.json leaves out files in output/ whose names not every system can read: ${all.length - found.length}`);
  return artifacts;
}

/** The regular files below output/ with their sizes. Follows no link, and looks at so many entries only. */
function* filesBelow(output) {
  let seen = 0;
  const folders = factsOf(output)?.isDirectory() ? ['output'] : [];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of namesIn(path.join(WORK, folder))) {
      if (++seen > ENTRIES_MAX) {
        note(`only the first ${ENTRIES_MAX} entries of output/ were looked at`);
        return;
      }
      const below = `${folder}/${name}`;
      // A name that is not UTF-8 was mangled on the way here and finds nothing.
      const facts = factsOf(path.join(WORK, below));
      if (facts?.isDirectory()) folders.push(below);
      else if (facts?.isFile()) yield { bytes: facts.size, path: below };
    }
  }
}

function* namesIn(folder) {
  let open;
  try {
    open = opendirSync(folder);
  } catch {
    return;
  }
  try {
    for (let entry = open.readSync(); entry; entry = open.readSync()) yield entry.name;
  } finally {
    open.closeSync();
  }
}

function factsOf(file) {
  try {
    return lstatSync(file);
  } catch {
    return undefined;
  }
}

/** Whether the contract lets a path name an artifact. One that it refuses would spoil the whole result. */
function isFit(file) {
  const names = file.split('/');
  return (
    !UNFIT.test(file) &&
    names.length <= 16 &&
    Buffer.byteLength(file) <= 1_024 &&
    names.every(name => Buffer.byteLength(name) <= 255)
  );
}

const UNFIT = new RegExp(
  [
    // Invisible, reordering, or half a character.
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffd]/u,
    /[\u{e0000}-\u{e007f}]|\p{Cs}/u,
    /[\\:*?"<>|]|\/ |[ .](?:\/|$)/u,
    /\/(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:[./]|$)/u,
  ]
    .map(({ source }) => source)
    .join('|'),
  'iu',
);

function note(text) {
  try {
    process.stderr.write(`proctor-tool: ${text}\n`);
  } catch {
    // A closed stderr is no reason to lose a result.
  }
}
