import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { findInPackage } from '../../base/package-file.ts';
import { newToken } from '../../base/ids.ts';
import { securityHeaders } from './headers.ts';

/** The viewer: one HTML page for every address, and its script and styles under names that change with their bytes. */
export class Pages {
  readonly #files = new Map<string, Page>();
  readonly #shell: (styleMark: string, head?: string) => string;

  constructor() {
    const folder = path.dirname(findInPackage(['page/live.js', 'dist/page/live.js']));
    const script = this.#asset(folder, 'live.js', 'text/javascript; charset=utf-8');
    const style = this.#asset(folder, 'live.css', 'text/css; charset=utf-8');
    this.#shell = (styleMark, head = '') => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="style-mark" content="${styleMark}">
${head}<title>Proctor</title>
<link rel="stylesheet" href="${style}">
<link rel="icon" href="data:,">
</head>
<body>
<div id="app"></div>
<noscript>The viewer needs JavaScript.</noscript>
<script src="${script}"></script>
</body>
</html>
`;
  }

  /** The file at a path. Every other address without a file extension is a view of the viewer. */
  at(urlPath: string): Page | undefined {
    const file = this.#files.get(urlPath);
    if (file) return file;
    return VIEW.test(urlPath) ? this.#view() : undefined;
  }

  /** The viewer, which shows why the server refuses what a browser opened. */
  refusal(code: string, message: string): Page {
    return this.#view(`<meta name="refusal" content="${attributeText(JSON.stringify({ code, message }))}">\n`);
  }

  #view(head?: string): Page {
    const styleMark = newToken().slice(0, 32);
    return {
      bytes: this.#shell(styleMark, head),
      headers: { ...securityHeaders('page', styleMark), 'content-type': 'text/html; charset=utf-8' },
    };
  }

  #asset(folder: string, name: string, type: string): string {
    const bytes = readFileSync(path.join(folder, name));
    const mark = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    const at = `/assets/${mark}-${name}`;
    const headers = {
      ...securityHeaders('page'),
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
    };
    this.#files.set(at, { bytes, headers });
    return at;
  }
}

interface Page {
  readonly bytes: string | Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

const attributeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The views of the viewer. An API path never shows a page. */
const VIEW = /^\/(?:(?:runs|comparisons|history|logs|verify|queue|scripts|script-runs|settings|login)(?:\/.*)?)?$/;
