import { trialsEnd } from './case-trials.ts';
import { comparisonPage } from './comparison-page.ts';
import { embedded, embeddedJson, escaped } from './embed.ts';
import { HTML_END, htmlOpening, joined, pageCode } from './html-file.ts';
import type { Coverage } from './page-data.ts';
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

const PAGE_BYTES_MAX = 25_000_000;
/** The share of the page that the case list may use. The rest is for cases shown in full. */
const ROWS_SHARE = 0.6;
/** Room for the closing tags, the coverage record and the numbers of the search index. */
const TAIL_BYTES = 1_500;
/** The limits of the search index: in bytes, and as a share of the page. */
const INDEX_BYTES_MAX = 600_000;
const INDEX_SHARE = 0.1;

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
  const code = pageCode('report');
  yield counted(htmlOpening(page.head, code));
  yield counted(embedded('head', page.head));
  yield counted('<script type="application/json" id="rows">[');
  const rowsEnd = bytes + Math.max(0, bytesMax - bytes - Buffer.byteLength(code.script)) * ROWS_SHARE;
  let rows = 0;
  for (const row of page.rows()) {
    const piece = `${rows === 0 ? '' : ','}${escaped(JSON.stringify(row))}`;
    const length = Buffer.byteLength(piece);
    if (bytes + length > rowsEnd) break;
    yield counted(piece, length);
    rows++;
  }
  yield counted(`]</script>\n<script>${code.script}</script>\n`);
  const indexBytesMax = Math.min(INDEX_BYTES_MAX, Math.max(0, bytesMax - bytes) * INDEX_SHARE);
  const detailsEnd = bytesMax - TAIL_BYTES - indexBytesMax;
  let full = 0;
  for (const [index, read] of page.details(rows)) {
    const piece = embeddedJson(`case-${index}`, read());
    const length = Buffer.byteLength(piece);
    if (bytes + length > detailsEnd) break;
    yield counted(piece, length);
    full++;
  }
  yield counted(embedded('words', page.words(rows, indexBytesMax)));
  const trialsMax = Math.min(bytesMax, trialsEnd(rows)) - TAIL_BYTES;
  const further = page.trials?.(full, piece => bytes + Buffer.byteLength(piece) <= trialsMax);
  let next = further?.next();
  for (; next && !next.done; next = further?.next()) yield counted(next.value);
  const coverage: Coverage = {
    cases: page.head.cases,
    rows,
    full,
    wanted: page.wanted,
    bytes_max: bytesMax,
    ...(next?.value && { trials: next.value }),
  };
  yield `${embedded('coverage', coverage)}${HTML_END}`;
}
