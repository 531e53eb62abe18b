import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { findInPackage } from '../base/package-file.ts';
import { htmlText } from './embed.ts';
import type { Tone } from './page-data.ts';

/** The built script and styles of a page. */
interface PageCode {
  readonly style: string;
  readonly script: string;
}

/** What a page says before its script runs. */
interface FirstWords {
  readonly tone: Tone;
  readonly word: string;
  readonly sentence: string;
  /** The nonce for styles in HTML from outside. */
  readonly style_mark: string;
}

export function pageCode(name: 'report' | 'pages'): PageCode {
  const folder = path.dirname(findInPackage([`page/${name}.js`, `dist/page/${name}.js`]));
  const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8').trim();
  return { style: read(`${name}.css`), script: read(`${name}.js`) };
}

/** The start of an HTML file, up to the data. */
export function htmlOpening({ tone, word, sentence, style_mark }: FirstWords, { style, script }: PageCode): string {
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
<noscript>This page needs JavaScript to show its data. The script is in this file; nothing is loaded from elsewhere.</noscript>
`;
}

export const HTML_END = '</body>\n</html>\n';

/** Joins small pieces, because each one costs a write. */
export function* joined(pieces: Iterable<string>): Generator<string> {
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

/**
 * Allows only the page's own script and styles, by hash. Frames inherit this policy, so it also allows style attributes
 * and styles with the page's nonce, for HTML from outside in a sandboxed frame.
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
