import type { RunLogView } from '../../../src/verbs/evidence/file-view.ts';
import { Card } from '../../shared/card.tsx';
import { count } from '../../shared/format.ts';
import { RunId } from '../../shared/run-id.tsx';
import { size } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';
import { Refused } from '../notice.tsx';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';

/** The internal log and the printed output of a run, for operators. */
export function RunLogPage({ parts: [id = ''] }: ViewProps) {
  return <LogAt path={`/v1/runs/${encodeURIComponent(id)}/log`} name={id} />;
}

/** The same for the correlation id that a user quotes. */
export function FoundLogPage({ parts: [correlationId = ''] }: ViewProps) {
  return <LogAt path={`/v1/logs/${encodeURIComponent(correlationId)}`} name={correlationId} />;
}

function LogAt({ path, name }: { readonly path: string; readonly name: string }) {
  const { value: log, refusal, again } = useAnswer<RunLogView>(path);
  useTitle(`Log of ${name}`);
  if (!log) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  return (
    <>
      <div class="live-heading">
        <h1>Log</h1>
        <a href={`/runs/${encodeURIComponent(log.run_id)}`}>
          <RunId value={log.run_id} />
        </a>
        {log.correlation_id !== null && (
          <span class="muted">
            correlation id <code>{log.correlation_id}</code>
          </span>
        )}
      </div>
      <div class="live-cards">
        {log.is_expired && <p class="note">Logs or printed output of this run have expired.</p>}
        <Entries log={log} />
        {log.streams.map(({ name: stream, path: file, text, bytes, is_cut: isCut }) => (
          <Card key={stream} id={stream} title={stream} note={isCut ? 'the beginning' : undefined}>
            {text === null || text === '' ? (
              <p class="note">{text === null ? 'Not stored.' : 'Nothing was printed.'}</p>
            ) : (
              <pre class="live-log" tabIndex={0} aria-label={stream}>
                <Text value={text} />
              </pre>
            )}
            {isCut && file !== null && (
              <p class="live-below">
                <a href={`/v1/runs/${encodeURIComponent(log.run_id)}/files/${encodeURIComponent(file)}`} download>
                  Download all of it ({size(bytes ?? 0)})
                </a>
              </p>
            )}
          </Card>
        ))}
      </div>
    </>
  );
}

function Entries({ log: { entries, entries_total: total } }: { readonly log: RunLogView }) {
  return (
    <Card id="internal" title="Internal log" note={count(total)}>
      {entries.length === 0 ? (
        <p class="note">No entries.</p>
      ) : (
        <ul class="evidence-lines">
          {entries.map(({ level, code, detail }, index) => (
            <li key={index}>
              <span class="tag">
                <Text value={level} />
              </span>{' '}
              <code>
                <Text value={code} />
              </code>{' '}
              <span class="live-text">
                <Text value={detail} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {total > entries.length && <p class="note">{count(total - entries.length)} more are not listed.</p>}
    </Card>
  );
}
