import type { PageCommand, PageEvidence, PageMasking } from '../../src/reports/pages/run-data.ts';
import { CommandList } from '../shared/copy.tsx';
import { count, plural } from '../shared/format.ts';
import { Mark } from '../shared/marks.tsx';
import { Text } from '../shared/visible.tsx';
import { Facts, LinkedCard } from './run/card.tsx';

interface Props {
  readonly evidence: PageEvidence;
  readonly masking: PageMasking | null;
}

export function Evidence(props: Props) {
  return (
    <LinkedCard id="evidence" title="Evidence">
      <EvidenceFacts {...props} />
    </LinkedCard>
  );
}

/** Whether the run folder verified when Proctor wrote this page, and who signed it. */
export function EvidenceFacts({ evidence, masking }: Props) {
  return (
    <>
      <Facts
        rows={[
          ['Seal', <Seal evidence={evidence} />],
          ['Signature', !evidence.is_open && <Signature evidence={evidence} />],
          ['Files', evidence.files === null ? null : `${count(evidence.files)} in the seal`],
          ['Masking', masking && <Masking masking={masking} />],
        ]}
      />
      <p class="note">
        Proctor checked this when it wrote the page. A copy of the page proves nothing: check the run folder.
      </p>
    </>
  );
}

function Seal({ evidence: { is_open, is_whole } }: Pick<Props, 'evidence'>) {
  if (is_open) return <>none yet: the run is not finished</>;
  return (
    <span class="run-probe">
      <Mark kind={is_whole ? 'pass' : 'fail'} />
      {is_whole ? 'verifies: every file matches' : 'does not verify; run proctor verify for details'}
    </span>
  );
}

function Signature({ evidence: { key_ids, signed } }: Pick<Props, 'evidence'>) {
  if (key_ids === null) return <>not signed</>;
  const by = key_ids.length === 0 ? 'a key without an id' : key_ids.join(', ');
  return (
    <span class="run-probe">
      <Mark kind={signed === 'right' ? 'pass' : signed === null ? 'error' : 'fail'} />
      <span>
        {signed === 'right' && 'valid, by your key '}
        {signed === 'wrong' && 'not valid, although it names your key '}
        {signed === 'by another key' && 'by a key other than yours: '}
        {signed === null && 'not checked here; it names '}
        <code>
          <Text value={by} />
        </code>
      </span>
    </span>
  );
}

function Masking({ masking: { credentials, kinds, flagged } }: { readonly masking: PageMasking }) {
  const counts = kinds.shown.map(([kind, times]) => `${count(times)} × ${kind.replaceAll('_', ' ')}`);
  return (
    <>
      <Text value={counts.join(', ') || 'nothing to mask'} />
      {credentials === 'kept' && '; well-known credentials are stored unmasked'}
      {flagged > 0 && `; ${plural(flagged, 'file')} ${flagged === 1 ? 'needs' : 'need'} review`}
    </>
  );
}

/** Commands to copy. */
export function Commands({ commands }: { readonly commands: readonly PageCommand[] }) {
  if (commands.length === 0) return null;
  return (
    <LinkedCard id="commands" title="Next steps" note="run them in the project folder">
      <CommandList commands={commands} />
    </LinkedCard>
  );
}
