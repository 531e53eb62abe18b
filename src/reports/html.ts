import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { findInPackage } from '../base/package-file.ts';
import { comparisonPage } from './comparison-page.ts';
import { embedded, embeddedJson, escaped, htmlText } from './embed.ts';
import type { Coverage, PageHead } from './page-data.ts';
import type { Page } from './page.ts';
import { runPage } from './run-page.ts';
import type { ReportInput, RunReportInput } from './report-input.ts';

/**
 * A comparison as one HTML file, in pieces, so that a large page is never in memory as a whole. The same documents give
 * the same bytes.
 */
export function htmlReport(input: ReportInput): Iterable<string> {
  return joined(piecesOf(comparisonPage(input), input.bytesMax));
}

/** One suite run and its evaluation, on the same page. */
export function htmlRunReport(input: RunReportInput): Iterable<string> {
  return joined(piecesOf(runPage(input), input.bytesMax));
}

/** Joins small pieces, because each one costs a write. */
function* joined(pieces: Iterable<string>): Generator<string> {
  let held = '';
  for (const piece of pieces) {
    held += piece;
    if (held.length < PIECE_CHARS) continue;
    yield held;
    held = '';
  }
  yield held;
}

const PIECE_CHARS = 65_536;
const PAGE_BYTES_MAX = 25_000_000;
/** Leaves room to show regressions in full. */
const ROWS_SHARE = 0.6;
/** Room for the closing tags and the coverage record. */
const TAIL_BYTES = 1_000;

/**
 * The code precedes the cases, so a browser shows the verdict while it still loads the rest. The coverage record is
 * known only at the end; a page without it was truncated.
 */
function* piecesOf(page: Page, bytesMax = PAGE_BYTES_MAX): Generator<string> {
  let bytes = 0;
  const counted = (piece: string, length = Buffer.byteLength(piece)): string => {
    bytes += length;
    return piece;
  };
  const { style, script } = pageCode();
  yield counted(opening(page.head, style, script));
  yield counted(embedded('head', page.head));
  yield counted('<script type="application/json" id="rows">[');
  const rowsEnd = bytes + Math.max(0, bytesMax - bytes) * ROWS_SHARE;
  let rows = 0;
  for (const row of page.rows()) {
    const piece = `${rows === 0 ? '' : ','}${escaped(JSON.stringify(row))}`;
    const length = Buffer.byteLength(piece);
    if (bytes + length > rowsEnd) break;
    yield counted(piece, length);
    rows++;
  }
  yield counted(`]</script>\n<script>${script}</script>\n`);
  let full = 0;
  for (const [index, read] of page.details(rows)) {
    const piece = embeddedJson(`case-${index}`, read());
    const length = Buffer.byteLength(piece);
    if (bytes + length > bytesMax - TAIL_BYTES) break;
    yield counted(piece, length);
    full++;
  }
  const coverage: Coverage = { cases: page.head.cases, rows, full, wanted: page.wanted, bytes_max: bytesMax };
  yield `${embedded('coverage', coverage)}</body>\n</html>\n`;
}

function opening({ tone, word, sentence, style_mark }: PageHead, style: string, script: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentPolicy(style, script, style_mark)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${htmlText(word)} · Proctor</title>
<style>${style}</style>
</head>
<body>
<div id="app"><header class="first" data-tone="${tone}"><p>${htmlText(word)}</p><h1>${htmlText(sentence)}</h1></header></div>
<noscript>This page needs JavaScript to show its cases. The script is in this file; nothing is loaded from elsewhere.</noscript>
`;
}

/**
 * Allows only the page's own script and styles, by hash. Frames inherit this policy, so it also allows style attributes
 * and styles with the page's nonce, for the agent's HTML in a sandboxed frame.
 */
function contentPolicy(style: string, script: string, mark: string): string {
  return [
    "default-src 'none'",
    `script-src '${hashSource(script)}'`,
    `style-src '${hashSource(style)}' 'nonce-${mark}'`,
    "style-src-attr 'unsafe-inline'",
    'img-src data:',
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

const hashSource = (code: string): string => `sha256-${createHash('sha256').update(code).digest('base64')}`;

/** The built app. */
function pageCode(): { readonly style: string; readonly script: string } {
  const folder = path.dirname(findInPackage(['page/report.js', 'dist/page/report.js']));
  const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8').trim();
  return { style: read('report.css'), script: read('report.js') };
}
