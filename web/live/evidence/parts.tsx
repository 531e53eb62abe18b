import type { EvidenceView, Verified } from '../../../src/verbs/evidence/evidence-view.ts';
import { Facts } from '../../pages/run/card.tsx';
import { Card } from '../../shared/card.tsx';
import { count, instant, plural } from '../../shared/format.ts';
import { Mark } from '../../shared/marks.tsx';
import { size } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';

/** Every broken rule, by file. Nothing if all rules hold. */
export function Violations({ verified }: { readonly verified: Verified }) {
  if (verified.broken.length === 0) return null;
  const listed = verified.broken.reduce((sum, { violations }) => sum + violations.length, 0);
  return (
    <Card id="violations" title="Broken rules" note={verified.violations_total > 0 && count(verified.violations_total)}>
      {verified.broken.map(({ file, reason, violations }) => (
        <div key={file} class="evidence-part">
          <h3>{file === '' ? 'As a whole' : <Code value={file} />}</h3>
          {reason && (
            <p class="evidence-line">
              <Mark kind="fail" /> <Text value={reason.message} />
            </p>
          )}
          <ul class="evidence-lines">
            {violations.map(({ rule_id, message, path }, index) => (
              <li key={index} class="evidence-line">
                <Mark kind="fail" />
                <span>
                  <code>{rule_id}</code> {path !== null && !message.includes(path) && <Code value={path} />}{' '}
                  <Text value={message} />
                </span>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {verified.violations_total > listed && (
        <p class="note">{count(verified.violations_total - listed)} more are not listed. Run proctor verify --json.</p>
      )}
    </Card>
  );
}

export function SealCard({ seal, signature }: Pick<EvidenceView, 'seal' | 'signature'>) {
  if (!seal) return null;
  return (
    <Card id="seal" title="Seal and signature">
      <Facts
        rows={[
          ['Run', <Code value={seal.run_id} />],
          ['Sealed', instant(seal.sealed_at)],
          ['Covers', `${plural(seal.files, 'file')}, ${size(seal.bytes)}`],
          ['Digest', <Code value={seal.sha256} />],
          ['Signature', signature && <Signature signature={signature} />],
          ['Key', signature && signature.key_ids.length > 0 && <Code value={signature.key_ids.join(', ')} />],
        ]}
      />
    </Card>
  );
}

function Signature({ signature: { state } }: { readonly signature: NonNullable<EvidenceView['signature']> }) {
  const [kind, words] = SIGNATURES[state];
  return (
    <span class="run-probe">
      <Mark kind={kind} />
      {words}
    </span>
  );
}

const SIGNATURES = {
  valid: ['pass', 'valid, by the key of this project'],
  wrong: ['fail', 'not valid, although it names the key of this project'],
  unknown_key: ['error', 'not checked: this project does not have the key'],
  unsigned: ['error', 'none: a seal without a signature reveals accidents, but not forgery'],
} as const;

/** Advice, notes and what the verifier could not check. */
export function Unchecked({ verified }: { readonly verified: Verified }) {
  const { not_checked: items, not_checked_total: total, notes, advice, advice_total: advised } = verified;
  if (items.length + notes.length + advice.length === 0) return null;
  return (
    <Card id="not-checked" title="What this does not prove">
      <ul class="evidence-lines">
        {notes.map(note => (
          <li key={note}>
            <Text value={note} />
          </li>
        ))}
        {advice.map(({ file, rule_id, message }, index) => (
          <li key={index}>
            Advice: <code>{rule_id}</code> {file !== '' && <Code value={file} />} <Text value={message} />
          </li>
        ))}
      </ul>
      {items.length > 0 && (
        <details>
          <summary>Not checked ({count(total)})</summary>
          <ul class="evidence-lines">
            {items.map(item => (
              <li key={item}>
                <Text value={item} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {total + advised > items.length + advice.length && (
        <p class="note">{count(total + advised - items.length - advice.length)} more are not listed.</p>
      )}
    </Card>
  );
}

export function ExpiredCard({ expired }: Pick<EvidenceView, 'expired'>) {
  if (!expired) return null;
  return (
    <Card id="expired" title="Expired files" note={count(expired.total)}>
      <p class="note">
        Removed {instant(expired.at)}, as the server's retention settings require. The seal still has their digests.
      </p>
      <FileNames files={expired.files} total={expired.total} />
    </Card>
  );
}

export function FileNames({ files, total }: { readonly files: readonly FileName[]; readonly total: number }) {
  return (
    <>
      <ul class="live-files">
        {files.map(({ path, bytes }) => (
          <li key={path}>
            <Code value={path} /> <span class="muted">{size(bytes)}</span>
          </li>
        ))}
      </ul>
      {total > files.length && <p class="note">{count(total - files.length)} more are not listed.</p>}
    </>
  );
}

interface FileName {
  readonly path: string;
  readonly bytes: number;
}

/** A name or a path that may contain anything. */
function Code({ value }: { readonly value: string }) {
  return (
    <code dir="ltr" class="evidence-code">
      <Text value={value} />
    </code>
  );
}
