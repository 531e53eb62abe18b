import { VERSION } from '../../base/version.ts';
import { embedded } from '../embed.ts';
import { HTML_END, htmlOpening, joined, pageCode } from '../html-file.ts';
import { styleMark } from '../page.ts';
import type { EmbeddedPage, SmallPage } from './page-kinds.ts';

/** A page of any kind as one HTML file, in pieces. The same data gives the same bytes. */
export function htmlPage({ kind, top, data }: SmallPage): Iterable<string> {
  const style_mark = styleMark(kind, top.id, top.at ?? '', JSON.stringify(data));
  const page: EmbeddedPage = { kind, top, data, proctor_version: VERSION, style_mark };
  const code = pageCode('pages');
  return joined([
    htmlOpening({ ...top, style_mark }, code),
    embedded('page', page),
    `<script>${code.script}</script>\n`,
    HTML_END,
  ]);
}
