import type { AgentPage } from '../../../src/reports/pages/agent-page-data.ts';
import { count, plural } from '../../shared/format.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';

/** Whether the folder verified when the page was written, who signed it, and its files. */
export function Evidence({ data: { evidence } }: { readonly data: AgentPage }) {
  const { sealed, verifies, signers, folder, files, filesTotal, masking } = evidence;
  const tone = verifies ? 'good' : sealed ? 'bad' : 'unsure';
  return (
    <>
      <ul class="review">
        <li data-tone={tone}>
          <Icon path={VERDICT_ICONS[tone]} />
          <p>
            {verifies
              ? 'The run folder matched its seal when this page was written.'
              : sealed
                ? 'The run folder does not match its seal.'
                : 'The run has no seal, so nothing proves that its files are complete.'}{' '}
            {sealed && <Signers signers={signers} />}
          </p>
        </li>
        {masking.map(text => (
          <li key={text} data-tone="good">
            <Icon path={VERDICT_ICONS.good} />
            <p>
              <Text value={text} />
            </p>
          </li>
        ))}
      </ul>
      <p class="note">
        Run folder:{' '}
        <code>
          <Text value={folder} />
        </code>
        . This page is not evidence; the run folder is.
      </p>
      {files.length > 0 && <SealedFiles files={files} filesTotal={filesTotal} />}
    </>
  );
}

function SealedFiles({ files, filesTotal }: Pick<AgentPage['evidence'], 'files' | 'filesTotal'>) {
  return (
    <details class="more">
      <summary>{plural(filesTotal, 'sealed file')}</summary>
      <div class="table-box" role="region" aria-label="Sealed files" tabIndex={0}>
        <table class="stacked files">
          <thead>
            <tr>
              <th scope="col">File</th>
              <th scope="col">Bytes</th>
              <th scope="col">SHA-256</th>
            </tr>
          </thead>
          <tbody>
            {files.map(({ name, bytes, sha256 }) => (
              <tr key={name}>
                <td>
                  <code>
                    <Text value={name} />
                  </code>
                </td>
                <td data-label="Bytes">{count(bytes)}</td>
                <td data-label="SHA-256">
                  <code title={sha256}>{sha256.slice(0, 16)}…</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {filesTotal > files.length && <p class="note">and {plural(filesTotal - files.length, 'more file')}</p>}
    </details>
  );
}

function Signers({ signers }: { readonly signers: readonly string[] | null }) {
  if (signers === null) return <>It is not signed.</>;
  const by = signers.length === 0 ? 'a key without an id' : signers.join(', ');
  return (
    <>
      The seal names the signer <Text value={by} />. Check the signature with <code>proctor verify --key</code>.
    </>
  );
}
