import type { AgentPage } from '../../../src/reports/pages/agent-page-data.ts';
import { count, plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { EvidenceFacts } from '../evidence.tsx';
import { Rest } from '../run/card.tsx';
import { Digest } from '../run/files.tsx';

/** The seal, the signature and the sealed files. */
export function Evidence({ data: { evidence } }: { readonly data: AgentPage }) {
  const { folder, sealed, masking, mounts } = evidence;
  return (
    <>
      <EvidenceFacts evidence={evidence} masking={masking} />
      <p class="note">
        Run folder:{' '}
        <code>
          <Text value={folder} />
        </code>
      </p>
      {mounts.length > 0 && <Mounts mounts={mounts} />}
      {sealed.shown.length > 0 && <SealedFiles sealed={sealed} files={evidence.files} />}
    </>
  );
}

/** The folders that the agent and its checks could read but not change. */
function Mounts({ mounts }: Pick<AgentPage['evidence'], 'mounts'>) {
  const rows = mounts.map(({ path, ...mount }) => ({ name: path, ...mount }));
  return <Hashed label="Mounted folders" what="Mounted, read-only" rows={rows} />;
}

function SealedFiles({ sealed, files }: Pick<AgentPage['evidence'], 'sealed' | 'files'>) {
  return (
    <details class="more">
      <summary>{plural(sealed.total, 'sealed file')}</summary>
      <Hashed label="Sealed files" what="File" rows={sealed.shown} />
      <Rest list={sealed} what="sealed files" />
      {files !== null && files > sealed.total && (
        <p class="note">
          {plural(files - sealed.total, 'more file')} in <code>evidence/internal/</code>, for operators.
        </p>
      )}
    </details>
  );
}

interface HashedProps {
  readonly label: string;
  /** The head of the column of names. */
  readonly what: string;
  readonly rows: readonly { name: string; entries?: number; bytes: number; sha256: string }[];
}

/** Files or folders with their hashes. Only folders have entries. */
function Hashed({ label, what, rows }: HashedProps) {
  const hasEntries = rows.some(({ entries }) => entries !== undefined);
  return (
    <div class="table-box" role="region" aria-label={label} tabIndex={0}>
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">{what}</th>
            {hasEntries && <th scope="col">Entries</th>}
            <th scope="col">Bytes</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, entries, bytes, sha256 }) => (
            <tr key={name}>
              <td>
                <code>
                  <Text value={name} />
                </code>
              </td>
              {entries !== undefined && <td data-label="Entries">{count(entries)}</td>}
              <td data-label="Bytes">{count(bytes)}</td>
              <td data-label="SHA-256">
                <Digest value={sha256} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
