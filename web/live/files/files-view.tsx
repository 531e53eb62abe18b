import type { RunFile, RunFilesPage } from '../../../src/verbs/evidence/file-view.ts';
import { Digest } from '../../pages/run/files.tsx';
import { count, plural } from '../../shared/format.ts';
import { RunId } from '../../shared/run-id.tsx';
import { size } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';
import { Choice, SearchField } from '../fields.tsx';
import { Notice, Refused } from '../notice.tsx';
import { hrefWith } from '../router.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';

const KEYS = ['role', 'q', 'after'] as const;

/** The files of a sealed run. Only those that are as they were sealed can be downloaded. */
export function RunFilesView({ place, parts: [id = ''] }: ViewProps) {
  const path = `/v1/runs/${encodeURIComponent(id)}/files`;
  const asked = new URLSearchParams(
    KEYS.flatMap(key => (place.query.get(key) ? [[key, place.query.get(key) ?? '']] : [])),
  );
  const { value, refusal, again } = useAnswer<RunFilesPage>(`${path}?limit=${PAGE_ROWS}&${asked.toString()}`);
  useTitle(`Files of ${id}`);
  if (!value) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  const here = `/runs/${encodeURIComponent(id)}`;
  return (
    <>
      <div class="live-heading">
        <h1>Files</h1>
        <span class="muted" role="status">
          {plural(value.total, 'file')}
        </span>
        <a href={here}>
          <RunId value={id} />
        </a>
        <a href={`${here}/evidence`}>Evidence</a>
      </div>
      <div class="live-filters" role="search">
        <SearchField place={place} label="Search by path" />
        <Choice place={place} name="role" label="Role" choices={ROLES} />
      </div>
      {value.files.length === 0 ? (
        <Notice title="No file matches" text="Try fewer filters, or another word." />
      ) : (
        <div class="card live-list">
          <FileTable files={value.files} path={path} />
        </div>
      )}
      <nav class="live-pages" aria-label="Pages of files">
        {place.query.has('after') && <a href={hrefWith(place, { after: '' })}>First page</a>}
        {value.next !== null && <a href={hrefWith(place, { after: value.next })}>Next {count(PAGE_ROWS)} files</a>}
      </nav>
    </>
  );
}

const PAGE_ROWS = 100;

const ROLES = [
  ['', 'All roles'],
  ['document', 'Documents'],
  ['case', 'Cases'],
  ['output', 'Outputs'],
  ['stream', 'Printed output'],
  ['transcript', 'Transcripts'],
  ['asset', 'Assets'],
  ['seal', 'Seals'],
  ['internal', 'Internal'],
] as const;

function FileTable({ files, path }: { readonly files: readonly RunFile[]; readonly path: string }) {
  return (
    <table class="stacked live-paths">
      <thead>
        <tr>
          <th scope="col">File</th>
          <th scope="col">Role</th>
          <th scope="col">Size</th>
          <th scope="col">SHA-256</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {files.map(file => (
          <tr key={file.path}>
            <td>
              <FileName file={file} path={path} />
            </td>
            <td data-label="Role">
              <Text value={file.step === null ? file.role : `${file.role} of ${file.step}`} />
            </td>
            <td data-label="Size">{file.bytes === null ? 'unknown' : size(file.bytes)}</td>
            <td data-label="SHA-256">
              <Digest value={file.sha256} />
            </td>
            <td data-label="State">
              {file.state === 'there' && !file.is_sealed ? 'beside the seal' : STATES[file.state]}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function FileName({ file, path }: { readonly file: RunFile; readonly path: string }) {
  const name = (
    <code dir="ltr" class="evidence-code">
      <Text value={file.path} />
    </code>
  );
  return file.state === 'there' ? (
    <a href={`${path}/${encodeURIComponent(file.path)}`} download data-row>
      {name}
    </a>
  ) : (
    name
  );
}

const STATES: Readonly<Record<RunFile['state'], string>> = {
  there: 'sealed',
  changed: 'changed after sealing',
  missing: 'missing',
  expired: 'expired',
  internal: 'internal',
  not_sealed: 'not in the seal',
  no_file: 'a link or not a file',
  withheld: 'withheld by the scan',
  being_checked: 'not scanned yet',
};
