/**
 * Writes result.json for a script that Proctor runs.
 *
 *     const { run } = await import(process.env.PROCTOR_TOOL);
 *     await run(async (inputDir, outputDir) => '<p>Done.</p>');
 *
 * Single file, no dependencies. Requires Node 20 or newer.
 */
import { randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, opendirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';

/** An expected error. Users of the tool see its message, so do not include paths or secrets. */
export class UserError extends Error {
  name = 'UserError';
}

/**
 * Calls runTool(inputDir, outputDir). Its result or error becomes result.json. A failure ends the script at once;
 * after a success, the script ends when the event loop is empty.
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

/** Writes a successful result and ends the script. */
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
 * Writes a failed result with a message for users, and ends the script.
 *
 * @param {unknown} message
 */
export function fail(message) {
  watch();
  failed(message instanceof Error ? message.message : String(message));
}

// Read at import, because the tool may change its working folder later.
const WORK = process.cwd();
const INPUT = path.join(WORK, 'input');
const OUTPUT = path.join(WORK, 'output');

// The contract limits result.json to 1 MiB and 2,000 artifacts. Proctor truncates text beyond the limits below.
const RESULT_BYTES_MAX = 1_048_576;
const HTML_BYTES_MAX = 500_000;
const SUMMARY_BYTES_MAX = 2_000;
const ARTIFACTS_MAX = 2_000;
const ARTIFACTS_BYTES_MAX = 400_000;
const ENTRIES_MAX = 100_000;

/** Undefined until the tool ends. @type {{ html: string } | { summary: string } | undefined} */
let outcome;
let watching = false;

/**
 * Writes the result when the process exits, because only then are all files complete. This also covers a tool that
 * calls process.exit or fails in a promise that it does not await.
 */
function watch() {
  if (watching) return;
  watching = true;
  process.on('unhandledRejection', broke);
  process.on('uncaughtException', broke);
  process.on('beforeExit', () => {
    if (!outcome) failed('The tool stopped before it finished.');
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

/** A non-zero exit code overrides a success, because Proctor reports such a run as failed. */
function endedWith(code) {
  if (outcome && 'summary' in outcome) return outcome;
  // Node exits with 13 if a top-level await never settles.
  if (code === 13 && !outcome) return { summary: 'The tool stopped before it finished.' };
  if (code !== 0) return { summary: `The tool ended with exit code ${code}.` };
  return outcome ?? { html: '' };
}

function broke(error) {
  try {
    // An expected error needs no stack trace.
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

/** Returns the name of a value's class, or "Error" if the name is unusual: a class name can be any text. */
function nameOf(value) {
  try {
    const { name } = value.constructor;
    return /^[A-Za-z0-9_.]{1,80}$/.test(name) && typeof value === 'object' ? name : 'Error';
  } catch {
    return 'Error';
  }
}

/** Returns result.json as canonical JSON, so that equal results have equal bytes. */
function resultOf(ended) {
  const isSuccess = 'html' in ended;
  const summary = isSuccess ? null : cut(ended.summary.toWellFormed(), SUMMARY_BYTES_MAX).trim() || 'The tool failed.';
  const html = isSuccess ? ended.html.toWellFormed() : '';
  const artifacts = artifactsOf(OUTPUT);
  let shown = cut(html, HTML_BYTES_MAX);
  // Canonical JSON requires sorted keys.
  const textWith = html_output =>
    JSON.stringify({
      artifacts,
      contract_version: 1,
      error_summary: summary,
      html_output,
      status: isSuccess ? 'succeeded' : 'failed',
    });
  let text = textWith(shown);
  // Escaped quotes and control characters can make 500,000 bytes of HTML exceed the limit.
  for (let bytes = Buffer.byteLength(text); bytes > RESULT_BYTES_MAX; bytes = Buffer.byteLength(text)) {
    shown = cut(shown, Math.floor((Buffer.byteLength(shown) * RESULT_BYTES_MAX) / bytes));
    text = textWith(shown);
  }
  if (shown !== html) note(`the HTML was truncated to ${Buffer.byteLength(shown)} bytes`);
  return text;
}

function cut(text, bytesMax) {
  // `stream: true` drops a character that is cut in half instead of replacing it.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, bytesMax), {
    stream: true,
  });
}

/** Writes atomically, so that a killed script leaves no partial result. */
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

/** Returns the regular files below output/, sorted. The list is informational: Proctor scans the folder itself. */
function artifactsOf(output) {
  const all = [...filesBelow(output)];
  // By UTF-16 code unit, like all lists that Proctor writes.
  const found = all.filter(file => isFit(file.path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  let artifacts = found.slice(0, ARTIFACTS_MAX);
  while (artifacts.length > 0 && Buffer.byteLength(JSON.stringify(artifacts)) > ARTIFACTS_BYTES_MAX)
    artifacts = artifacts.slice(0, Math.floor((artifacts.length * 9) / 10));
  if (artifacts.length < found.length)
    note(`result.json lists ${artifacts.length} of ${found.length} files in output/`);
  if (found.length < all.length)
    note(`result.json omits files in output/ whose names are not portable: ${all.length - found.length}`);
  return artifacts;
}

/** Yields the regular files below output/ with their sizes. Ignores links and stops after ENTRIES_MAX entries. */
function* filesBelow(output) {
  let seen = 0;
  const folders = factsOf(output)?.isDirectory() ? ['output'] : [];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of namesIn(path.join(WORK, folder))) {
      if (++seen > ENTRIES_MAX) {
        note(`only the first ${ENTRIES_MAX} entries of output/ were scanned`);
        return;
      }
      const below = `${folder}/${name}`;
      // Node decodes names as UTF-8, so a name in another encoding finds no file.
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

/** Whether the contract accepts the path of an artifact. A single rejected path invalidates the whole result. */
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
    // Invisible characters, reordering characters, or unpaired surrogates.
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
    // The result matters more than a note.
  }
}
