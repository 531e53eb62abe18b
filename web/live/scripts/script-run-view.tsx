import DOMPurify from 'dompurify';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { OutputView, ScriptRunView } from '../../../src/publish/views.ts';
import { AgentHtml } from '../../shared/agent-html.tsx';
import { instant, milliseconds, plural } from '../../shared/format.ts';
import { size } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';
import { follow, order } from '../api.ts';
import { Refused } from '../notice.tsx';
import { styleMark } from '../style-mark.ts';
import { useTitle } from '../title.ts';
import { useAct } from '../use-act.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';
import { ScriptState } from './script-state.tsx';

/** A run of a published script, as its user sees it. */
export function ScriptRunPage({ parts: [id = ''] }: ViewProps) {
  const path = `/v1/script-runs/${encodeURIComponent(id)}`;
  const { value: first, refusal, again } = useAnswer<ScriptRunView>(path);
  const [newest, setNewest] = useState<ScriptRunView>();
  const isOpen = first !== undefined && isGoing(first);
  useEffect(() => {
    if (!isOpen) return undefined;
    return follow(`${path}/events`, ['view', 'ended'], {
      onEvent: (kind, data) => {
        if (kind === 'view') setNewest(data as ScriptRunView);
        else again();
      },
      onState: () => {},
    });
  }, [path, isOpen]);
  // The answer about a run that has ended also has the note for operators.
  const run = first && !isGoing(first) ? first : (newest ?? first);
  useTitle(run ? `${run.state.replaceAll('_', ' ')} · ${run.script.title}` : id);
  if (!run) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  return (
    <>
      <div class="live-heading">
        <h1>
          <Text value={run.script.title} />
        </h1>
        <ScriptState state={run.state} />
        <a href={`/scripts/${encodeURIComponent(run.script.name)}`}>Run it again</a>
      </div>
      <div class="live-cards">
        <Status run={run} path={path} />
        {run.html_output !== null && run.html_output.trim() !== '' && <Result html={run.html_output} />}
        {(run.files.length > 0 || run.files_omitted > 0) && <Files run={run} path={path} />}
      </div>
    </>
  );
}

const isGoing = ({ state }: ScriptRunView): boolean => state === 'waiting' || state === 'running';

function Status({ run, path }: { readonly run: ScriptRunView; readonly path: string }) {
  const { act, error, isBusy } = useAct();
  return (
    <section class="card" aria-label="Status">
      {run.position !== null && <p>{plural(run.position - 1, 'run')} before this one.</p>}
      {run.waits_for !== null && (
        <p>
          Waits for <Text value={run.waits_for} />.
        </p>
      )}
      {run.progress && (
        <p class="live-progress">
          <progress value={run.progress.percent} max={100} aria-label="Progress" />
          <span>
            {run.progress.percent} % {run.progress.text !== null && <Text value={run.progress.text} />}
          </span>
        </p>
      )}
      {run.error_summary !== null && (
        <p class="live-text">
          <Text value={run.error_summary} />
        </p>
      )}
      {run.operator_note !== null && (
        <p class="note">
          <Text value={run.operator_note} />
        </p>
      )}
      {run.correlation_id !== null && (
        <p class="note">
          If you ask for help, quote <code>{run.correlation_id}</code>.
        </p>
      )}
      <p class="note">
        Ordered {instant(run.ordered_at)}
        {isGoing(run)
          ? run.started_at !== null && ` · started ${instant(run.started_at)}`
          : run.elapsed_ms !== null && ` · took ${milliseconds(run.elapsed_ms)}`}
      </p>
      {isGoing(run) && (
        <button
          type="button"
          class="live-button"
          disabled={isBusy}
          onClick={() => act(async () => void (await order('POST', `${path}/cancel`)))}
        >
          Stop
        </button>
      )}
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
    </section>
  );
}

/** The HTML of the script: sanitized, then reduced to an allow list, then shown in a frame without rights. */
function Result({ html }: { readonly html: string }) {
  const clean = useMemo(
    () => DOMPurify.sanitize(html, { WHOLE_DOCUMENT: true, FORBID_TAGS: ['form', 'input'] }),
    [html],
  );
  return (
    <section class="card" aria-labelledby="result">
      <h2 id="result">Result</h2>
      <AgentHtml html={clean} title="The script’s HTML" styleMark={styleMark()} />
    </section>
  );
}

const FILE_STATES: Record<OutputView['state'], string> = {
  offered: '',
  withheld: 'withheld by the scan of the operator',
  expired: 'expired',
  being_checked: 'being checked',
};

const WITHHELD = {
  rejected: 'withheld: the scan of the operator rejected it',
  not_checked: 'withheld: the scan of the operator could not check it',
} as const;

const stateText = ({ state, withheld_because: because }: OutputView): string =>
  because === null ? FILE_STATES[state] : WITHHELD[because];

function Files({ run, path }: { readonly run: ScriptRunView; readonly path: string }) {
  return (
    <section class="card" aria-labelledby="files">
      <h2 id="files">Files</h2>
      <ul class="live-files">
        {run.files.map(file => (
          <li key={file.path}>
            {file.state === 'offered' ? (
              <a href={`${path}/files/${encodeURIComponent(file.path)}`} download>
                <Text value={file.name} />
              </a>
            ) : (
              <Text value={file.name} />
            )}{' '}
            <span class="muted">
              {size(file.bytes)} {stateText(file)}
            </span>
          </li>
        ))}
      </ul>
      {run.files_omitted > 0 && <p class="note">{plural(run.files_omitted, 'more file')} in the archive.</p>}
      {run.files.some(({ state }) => state === 'offered') && (
        <p class="live-below">
          <a class="live-button" href={`${path}/archive`} download>
            Download all as zip
          </a>
        </p>
      )}
    </section>
  );
}
