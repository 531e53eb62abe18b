import { VERSION } from '../../base/version.ts';
import { embedded } from '../embed.ts';
import { HTML_END, htmlOpening, joined, pageCode } from '../html-file.ts';
import { styleMark } from '../page.ts';
import type { EmbeddedPage, SmallPage } from './page-kinds.ts';

/** A page of any kind as one HTML file, in pieces. The same data gives the same bytes. */
export function htmlPage(small: SmallPage): Iterable<string> {
  const page = embeddedPage(small);
  const code = pageCode('pages');
  return joined([
    htmlOpening({ ...page.top, style_mark: page.style_mark }, code),
    embedded('page', page),
    `<script>${code.script}</script>\n`,
    HTML_END,
  ]);
}

/** The data of a page, as its script reads it. */
export function embeddedPage({ kind, top, data }: SmallPage): EmbeddedPage {
  const style_mark = styleMark(kind, top.id, top.at ?? '', JSON.stringify(data));
  return { kind, top, data, proctor_version: VERSION, style_mark };
}
