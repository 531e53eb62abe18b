import type { ShortList, PageFile } from '../../../src/reports/pages/run-data.ts';
import { Mark } from '../../shared/marks.tsx';
import { size } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';
import { Rest } from './card.tsx';

/** Files with their sizes and digests. There are no links: a file that a program wrote is not safe to open. */
export function Files({ files, label }: { readonly files: ShortList<PageFile>; readonly label: string }) {
  if (files.shown.length === 0 && files.total === 0) return null;
  return (
    <>
      <div class="table-box" role="region" aria-label={`List: ${label}`} tabIndex={0}>
        <table class="stacked files">
          <thead>
            <tr>
              <th scope="col">File</th>
              <th scope="col">Type</th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">SHA-256</th>
            </tr>
          </thead>
          <tbody>
            {files.shown.map(file => (
              <tr key={file.path}>
                <th scope="row">
                  <code dir="ltr">
                    <Text value={file.path} />
                  </code>
                  {file.review !== null && (
                    <span class="file-review">
                      <Mark kind="error" /> Needs review: <Text value={file.review} />
                    </span>
                  )}
                </th>
                <td data-label="Type">{typeOf(file.path)}</td>
                <td class="number" data-label="Size">
                  {size(file.bytes)}
                </td>
                <td data-label="SHA-256">
                  <Digest value={file.sha256} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Rest list={files} what="files" />
    </>
  );
}

/** The beginning of a digest; the whole one is in its title and on paper. */
export function Digest({ value }: { readonly value: string | null }) {
  if (value === null) return <>–</>;
  const hex = value.replace('sha256:', '');
  return (
    <code class="digest" title={hex}>
      {hex.slice(0, 12)}
      <span class="digest-rest">{hex.slice(12)}</span>
    </code>
  );
}

/** The type that the file extension suggests. */
function typeOf(path: string): string {
  const ending = /\.([A-Za-z0-9]{1,8})$/.exec(path)?.[1]?.toLowerCase();
  return ending === undefined ? '–' : (TYPES[ending] ?? ending.toUpperCase());
}

const TYPES: Readonly<Record<string, string>> = {
  csv: 'table, CSV',
  gif: 'image, GIF',
  gz: 'archive, gzip',
  htm: 'page, HTML',
  html: 'page, HTML',
  jpeg: 'image, JPEG',
  jpg: 'image, JPEG',
  json: 'data, JSON',
  jsonl: 'data, JSON lines',
  log: 'text, log',
  md: 'text, Markdown',
  ndjson: 'data, JSON lines',
  pdf: 'document, PDF',
  png: 'image, PNG',
  svg: 'image, SVG',
  tar: 'archive, tar',
  tsv: 'table, TSV',
  txt: 'text',
  xlsx: 'table, Excel',
  xml: 'data, XML',
  yaml: 'data, YAML',
  yml: 'data, YAML',
  zip: 'archive, ZIP',
};

/** A file that the run read: its name, size and digest. */
export function Source({
  name,
  sha256,
  bytes,
}: {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}) {
  return (
    <span class="source">
      <code>
        <Text value={name} />
      </code>{' '}
      <span class="muted">
        {size(bytes)}, <Digest value={sha256} />
      </span>
    </span>
  );
}
