// What the GitHub Action writes from the reports of `proctor test`. The reports contain text from the agent under test.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The suites with a report in this folder, in the order of their names. */
export function suitesIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && SUITE.test(entry.name))
    .map(({ name }) => name)
    .sort((a, b) => (a < b ? -1 : 1))
    .slice(0, SUITES_MAX);
}

/** Names of suites, as proctor.yaml allows them. */
export const SUITE = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const SUITES_MAX = 100;

/** The text of a report; undefined if there is none. The agent under test may have replaced it with anything. */
export function reportText(folder, suite, name) {
  const file = path.join(folder, suite, name);
  const status = lstatSync(file, { throwIfNoEntry: false });
  return status?.isFile() && status.size <= REPORT_BYTES_MAX ? readFileSync(file, 'utf8') : undefined;
}

const REPORT_BYTES_MAX = 1024 * 1024;

/** What `proctor test --json` printed: the suites that could not run, and why. Empty if it printed nothing. */
export function faultsIn(folder) {
  const file = path.join(folder, RESULT);
  const status = lstatSync(file, { throwIfNoEntry: false });
  if (!status?.isFile() || status.size > RESULT_BYTES_MAX) return [];
  try {
    const { suites, error } = JSON.parse(readFileSync(file, 'utf8'));
    const told = suites ?? [{ name: null, error }];
    return told.flatMap(({ name, error }) => (error ? [{ suite: name, message: String(error.message) }] : []));
  } catch {
    return [];
  }
}

/** The file for the output of `proctor test --json`. */
export const RESULT = 'test.json';
const RESULT_BYTES_MAX = 64 * 1024 * 1024;

/** The Markdown reports of all suites, and why the others have none. */
export function summaryText(folder, exitCode) {
  const faults = faultsIn(folder).map(({ suite, message }) => ({
    suite,
    text: `## ❌ Could not run\n\n${code(message)}`,
  }));
  const reports = suitesIn(folder).flatMap(suite => {
    const text = reportText(folder, suite, 'report.md');
    return text === undefined ? [] : [{ suite, text: inert(text).trim() }];
  });
  const parts = [...faults, ...reports];
  if (parts.length === 0) {
    return `## ❌ Proctor could not run\n\nExit code ${exitCode}, and no report. The log of the step says why.\n`;
  }
  const told = parts.map(({ suite, text }) => (parts.length === 1 || !suite ? text : `# ${code(suite)}\n\n${text}`));
  return `${told.join('\n\n')}\n`;
}

/** Any text on one line, as code. */
function code(text) {
  const inner = text.slice(0, CODE_CHARACTERS_MAX).replaceAll(/\s+/g, ' ');
  const longest = Math.max(0, ...[...inner.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${inner} ${fence}`;
}

const CODE_CHARACTERS_MAX = 2_000;

/**
 * Makes mentions, links, HTML and unclosed code spans inert. Proctor's reports are already inert, but the agent may have
 * replaced them.
 */
export function inert(markdown) {
  return markdown
    .split(/\r\n|\n|\r/)
    .map(line => (FOLD.test(line) ? line : inertLine(line)))
    .join('\n');
}

/** The only HTML in a report folds a list. */
const FOLD = /^(?:<details><summary>[\p{L}\p{N} :,]*<\/summary>|<\/details>)$/u;

function inertLine(line) {
  let told = '';
  for (let at = 0; at < line.length; ) {
    const [plain] = /^[^`]*/.exec(line.slice(at));
    told += plain.replace(ALIVE, defused);
    at += plain.length;
    const [ticks] = /^`*/.exec(line.slice(at));
    const end = closing(line, at + ticks.length, ticks.length);
    // A code span left open here could end on another line and expose its content.
    told += end === undefined ? '\\`'.repeat(ticks.length) : line.slice(at, end);
    at = end ?? at + ticks.length;
  }
  return told;
}

/** Mentions, HTML, links, images, addresses and references to issues. */
const ALIVE = /[@<[\\]|:(?=\/\/)|(?<=ww)w(?=\.)|#(?=\d)/gi;

/** GitHub looks for mentions and references after it has resolved entities, so an invisible character separates them. */
function defused(character) {
  if (character === '<') return '&lt;';
  return character === '[' || character === '\\' ? `\\${character}` : `${character}\u200b`;
}

/** The index after the next run of exactly `length` backticks; undefined if there is none. */
function closing(line, from, length) {
  for (const { 0: run, index } of line.slice(from).matchAll(/`+/g)) {
    if (run.length === length) return from + index + length;
  }
  return undefined;
}

/** Cuts a text at the end of a line, and says so. Closes folded lists that are still open. */
export function cut(text, charactersMax, mark) {
  if (text.length <= charactersMax) return text;
  const room = charactersMax - mark.length - CLOSING.length - 2;
  const end = text.lastIndexOf('\n', room);
  const head = text.slice(0, Math.max(0, end));
  const lines = head.split('\n');
  const isOpen = lines.findLastIndex(line => line.startsWith('<details>')) > lines.lastIndexOf('</details>');
  return `${head}${isOpen ? CLOSING : ''}\n\n${mark}`;
}

const CLOSING = '\n\n</details>';

/** Workflow commands from all suites. GitHub shows ten of each level per step, so the rest is counted. */
export function annotationsIn(folder) {
  const lines = suitesIn(folder)
    .flatMap(suite => (reportText(folder, suite, 'annotations.txt') ?? '').split('\n'))
    .filter(line => COMMAND.test(line));
  const shown = ['error', 'warning', 'notice'].flatMap(level =>
    lines.filter(line => line.startsWith(`::${level} `)).slice(0, PER_LEVEL_MAX),
  );
  const left = lines.length - shown.length;
  return left === 0 ? shown : [...shown, command('notice', `${left} more annotations are in the reports.`).trim()];
}

const COMMAND = /^::(?:error|warning|notice) [^\r\n]*::[^\r\n]*$/;
const PER_LEVEL_MAX = 10;

/** A workflow command that shows a sentence next to the step. */
export function command(level, message) {
  const data = message
    .slice(0, CODE_CHARACTERS_MAX)
    .replaceAll('%', '%25')
    .replaceAll('\r', '%0D')
    .replaceAll('\n', '%0A');
  return `::${level} title=Proctor::${data}\n`;
}
