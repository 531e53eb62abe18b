import { useEffect, useRef } from 'preact/hooks';
import type { ScriptCard, ScriptListing } from '../../../src/publish/views.ts';
import { instant } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { order, Refusal, upload } from '../api.ts';
import { Refused } from '../notice.tsx';
import { visit } from '../router.ts';
import { includes, useWho } from '../session.ts';
import { useTitle } from '../title.ts';
import { useAct } from '../use-act.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';
import { InputField } from './input-field.tsx';

interface ScriptAnswer {
  readonly script: ScriptCard | null;
  readonly all: ScriptListing | null;
}

/** One published script: a form made from its inputs, and its versions. */
export function ScriptView({ parts: [name = ''] }: ViewProps) {
  const path = `/v1/scripts/${encodeURIComponent(name)}`;
  const { value, refusal, again } = useAnswer<ScriptAnswer>(path);
  const title = value?.script?.title ?? value?.all?.title ?? name;
  useTitle(title);
  if (!value) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  return (
    <>
      <div class="live-heading">
        <h1>
          <Text value={title} />
        </h1>
        <span class="muted">
          {name} {value.script?.version}
        </span>
      </div>
      <div class="live-cards">
        {value.script ? (
          <ScriptForm script={value.script} path={path} />
        ) : (
          <p class="note">This script is not offered to end users.</p>
        )}
        {value.all && <Versions listing={value.all} path={path} onChange={again} />}
      </div>
    </>
  );
}

function ScriptForm({ script, path }: { readonly script: ScriptCard; readonly path: string }) {
  const { act, error, fields, isBusy } = useAct();
  const shown = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (fields.size > 0) shown.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [fields]);
  // If no answer came, the server may have taken the order. With the same key, it takes it once.
  const key = useRef('');
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    // A file field without a file sends an empty file. An empty text stays: without it, the default would count.
    for (const [name, entry] of Array.from(form))
      if (entry instanceof File && entry.size === 0 && entry.name === '') form.delete(name);
    if (key.current === '') key.current = crypto.randomUUID();
    const headers = { 'idempotency-key': key.current };
    const target = `${path}/runs?version=${script.version}`;
    act(async () => {
      const { run_id: id } = await upload<{ readonly run_id: string }>(target, form, headers).catch(inWords);
      visit(`/script-runs/${encodeURIComponent(id)}`);
    });
  };
  return (
    <section class="card" aria-label="Run it">
      {script.description !== '' && (
        <p class="live-text">
          <Text value={script.description} />
        </p>
      )}
      <form ref={shown} class="live-form" onSubmit={submit} onInput={() => (key.current = '')}>
        {script.inputs.map(input => (
          <InputField key={input.name} input={input} error={fields.get(input.name)} />
        ))}
        <div>
          <button type="submit" class="live-button live-main-button" disabled={isBusy}>
            {isBusy ? 'Sending…' : 'Run'}
          </button>
        </div>
      </form>
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
    </section>
  );
}

/** The server does not tell a replaced version from a missing script. This page was shown the script, so it can. */
function inWords(error: unknown): never {
  if (!(error instanceof Refusal) || error.code !== 'no_script') throw error;
  throw new Error('This version is no longer offered. Reload the page to see whether there is another one.');
}

interface VersionsProps {
  readonly listing: ScriptListing;
  readonly path: string;
  readonly onChange: () => void;
}

function VersionsHead() {
  return (
    <thead>
      <tr>
        <th scope="col">Version</th>
        <th scope="col">State</th>
        <th scope="col">Author</th>
        <th scope="col">When</th>
        <th scope="col">
          <span class="unseen">Actions</span>
        </th>
      </tr>
    </thead>
  );
}

/** Every version, for those who publish. Administrators offer, withdraw and roll back. */
function Versions({ listing, path, onChange }: VersionsProps) {
  const isAdmin = includes(useWho().role, 'admin');
  const { act, error, isBusy } = useAct();
  const post = (what: string): void =>
    act(async () => {
      await order('POST', `${path}/${what}`);
      onChange();
    });
  return (
    <section class="card" aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      <table class="stacked">
        <VersionsHead />
        <tbody>
          {listing.versions.map(({ version, state, is_current: isCurrent, author, at }) => (
            <tr key={version}>
              <th scope="row">{version}</th>
              <td data-label="State">{isCurrent ? 'current' : state}</td>
              <td data-label="Author">
                <Text value={author} />
              </td>
              <td data-label="When">{instant(at)}</td>
              <td>
                {isAdmin && state !== 'withdrawn' && (
                  <button
                    type="button"
                    class="small"
                    disabled={isBusy}
                    onClick={() => post(`versions/${version}/${state === 'draft' ? 'publish' : 'withdraw'}`)}
                  >
                    {state === 'draft' ? 'Offer' : 'Withdraw'}
                    <span class="unseen"> version {version}</span>
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {isAdmin && listing.previous !== null && (
        <p class="live-below">
          <button type="button" class="live-button" disabled={isBusy} onClick={() => post('rollback')}>
            Roll back to {listing.previous}
          </button>
        </p>
      )}
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
    </section>
  );
}
