import { useState } from 'preact/hooks';
import type { VerdictView } from '../../../src/verbs/evidence/evidence-view.ts';
import { Card } from '../../shared/card.tsx';
import { count } from '../../shared/format.ts';
import { Says } from '../../shared/says.tsx';
import { size } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';
import { upload } from '../api.ts';
import { useTitle } from '../title.ts';
import { useAct } from '../use-act.ts';
import { ExpiredCard, FileNames, SealCard, Unchecked, Violations } from './parts.tsx';

interface Checked {
  readonly name: string;
  readonly verdict: VerdictView;
}

/** Takes a pack or a document, and shows the verdict on it. The server keeps nothing. */
export function VerifyPage() {
  const [checked, setChecked] = useState<Checked>();
  const { act, isBusy, error } = useAct();
  useTitle(checked ? `${checked.verdict.top.word} · ${checked.name}` : 'Verify');
  const check = (file: File | undefined): void => {
    if (!file || isBusy) return;
    setChecked(undefined);
    act(async () => {
      const verdict = await upload<VerdictView>('/v1/verify', file, {
        'content-type': 'application/octet-stream',
      });
      setChecked({ name: file.name, verdict });
    });
  };
  return (
    <>
      {checked ? (
        <Verdict checked={checked} />
      ) : (
        <div class="live-heading">
          <h1>Verify a pack</h1>
        </div>
      )}
      <DropZone isBusy={isBusy} onFile={check} />
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
      {checked && <Details verdict={checked.verdict} />}
    </>
  );
}

function Verdict({ checked: { name, verdict } }: { readonly checked: Checked }) {
  return (
    <section class="verdict live-verdict" data-tone={verdict.top.tone} aria-label="Verdict">
      <p class="live-what">
        {verdict.what === 'pack' ? 'Pack' : 'Document'}{' '}
        <code>
          <Text value={name} />
        </code>{' '}
        · {size(verdict.bytes)}
      </p>
      <Says top={verdict.top} />
    </section>
  );
}

function Details({ verdict }: { readonly verdict: VerdictView }) {
  const { verified, seal, signature, expired, files, files_total: total } = verdict;
  return (
    <div class="live-cards">
      <SealCard seal={seal} signature={signature} />
      <Violations verified={verified} />
      <ExpiredCard expired={expired} />
      {total > 0 && (
        <Card id="files" title="Files" note={count(total)}>
          <FileNames files={files} total={total} />
        </Card>
      )}
      <Unchecked verified={verified} />
    </div>
  );
}

interface DropProps {
  readonly isBusy: boolean;
  readonly onFile: (file: File | undefined) => void;
}

/** A field for a file. A file that is dropped on it counts as chosen. */
function DropZone({ isBusy, onFile }: DropProps) {
  const [isOver, setIsOver] = useState(false);
  return (
    <label
      class="evidence-drop"
      data-over={isOver}
      onDragOver={event => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={event => {
        event.preventDefault();
        setIsOver(false);
        onFile(event.dataTransfer?.files[0]);
      }}
    >
      <span role="status">{isBusy ? 'Checking…' : 'Drop a pack or a JSON document here, or choose a file'}</span>
      <input
        type="file"
        accept=".tar,.json"
        disabled={isBusy}
        onChange={event => {
          onFile(event.currentTarget.files?.[0]);
          // The same file can be chosen again after a change.
          event.currentTarget.value = '';
        }}
      />
      <span class="note">At most 1 GiB. The server verifies it, keeps nothing and unpacks nothing.</span>
    </label>
  );
}
