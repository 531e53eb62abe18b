import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AgentPage, AgentRow } from '../../../src/reports/pages/agent-page-data.ts';
import { count, milliseconds, plural } from '../../shared/format.ts';
import { Icon } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { type AgentAddress, agentHash, goTo } from './address.ts';
import { clockText, inTree, KIND_WORDS, stateWord } from './spans.ts';
import { LongText } from './summary.tsx';

interface Props {
  readonly data: AgentPage;
  readonly address: AgentAddress;
}

/** Every entry of the transcript, a call and its result in one row. */
export function Transcript({ data, address }: Props) {
  const { rows, omitted } = data;
  const { q, line } = address;
  const found = useMemo(() => matching(rows, q), [rows, q]);
  const list = useRef<HTMLOListElement>(null);
  const at = useMemo(() => rowAt(rows, Number(line)), [rows, line]);
  useEffect(() => {
    if (line === '' || at === undefined) return;
    const row = list.current?.querySelector<HTMLElement>(`[data-line="${rows[at]?.seq}"]`);
    row?.scrollIntoView({ block: 'center' });
    row?.focus({ preventScroll: true });
  }, [line, at]);
  if (rows.length === 0) return <p class="muted">The agent recorded nothing.</p>;
  return (
    <>
      <div class="transcript-tools" role="search">
        <label>
          <span class="unseen">Search the transcript</span>
          <input
            type="search"
            placeholder="Search the transcript"
            value={q}
            onInput={event => goTo(agentHash(address, { q: event.currentTarget.value, line: '' }), 'replace')}
          />
        </label>
        <span role="status" class="muted">
          {q !== '' && `${count(found.length)} of ${plural(rows.length, 'entry', 'entries')}`}
          {q === '' && omitted.count > 0 && `The first and the last ${count(omitted.after)} are on this page.`}
        </span>
      </div>
      {line !== '' && (at === undefined || rows[at]?.seq !== Number(line)) && <Missing data={data} line={line} />}
      <ol class="transcript" ref={list}>
        {found.map(index => {
          const row = rows[index] as AgentRow;
          const isGap = q === '' && omitted.count > 0 && index === omitted.after;
          return [
            isGap && <Gap key="gap" data={data} />,
            <Row
              key={row.seq}
              row={row}
              address={address}
              before={rows[index - 1]}
              isChosen={index === at && line !== ''}
            />,
          ];
        })}
      </ol>
    </>
  );
}

/** The last row that starts at or before a line: results and denials are part of their call's row. */
function rowAt(rows: readonly AgentRow[], line: number): number | undefined {
  if (!Number.isSafeInteger(line) || line < 1) return undefined;
  const after = rows.findIndex(({ seq }) => seq > line);
  const index = after < 0 ? rows.length - 1 : after - 1;
  return index < 0 ? undefined : index;
}

function matching(rows: readonly AgentRow[], q: string): number[] {
  const words = q
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '');
  const all = [...rows.keys()];
  if (words.length === 0) return all;
  return all.filter(index => {
    const { tool, about, text, input, reason, kind } = rows[index] as AgentRow;
    const searched = [KIND_WORDS[kind], tool, about, text?.text, input?.text, reason].join('\n').toLowerCase();
    return words.every(word => searched.includes(word));
  });
}

function Gap({ data: { omitted } }: Pick<Props, 'data'>) {
  return (
    <li class="gap-row">
      {plural(omitted.count, 'entry', 'entries')} left out here. All of them are in <code>{omitted.file}</code>.
    </li>
  );
}

function Missing({ data: { rows, omitted }, line }: { readonly data: AgentPage; readonly line: string }) {
  const number = Number(line);
  const first = rows[omitted.after - 1]?.seq ?? 0;
  const last = rows[omitted.after]?.seq ?? 0;
  const isOmitted = omitted.count > 0 && number > first && number < last;
  if (!isOmitted) return null;
  return (
    <p class="note" role="status">
      Line {count(number)} is not on this page. It is in <code>{omitted.file}</code>.
    </p>
  );
}

interface RowProps {
  readonly row: AgentRow;
  readonly before: AgentRow | undefined;
  readonly address: AgentAddress;
  readonly isChosen: boolean;
}

function Row({ row, before, address, isChosen }: RowProps) {
  const isTurn = row.turn > 0 && row.turn !== before?.turn;
  return (
    <li
      class="entry"
      data-kind={row.kind}
      data-state={row.state ?? ''}
      data-line={row.seq}
      data-chosen={isChosen}
      tabIndex={-1}
    >
      {isTurn && <p class="turn-title">Turn {count(row.turn)}</p>}
      <div class="entry-line">
        <a class="entry-at" href={agentHash(address, { line: String(row.seq) })}>
          <span>
            <span class="unseen">Line </span>
            {count(row.seq)}
          </span>
          <span>{clockText(row.at)}</span>
        </a>
        <div class="entry-body">
          {row.kind === 'call' ? <Call row={row} isOpen={isChosen} /> : <Said row={row} />}
          {row.kind === 'call' && row.reason !== undefined && (
            <p class="denied-reason">
              Denied: <Text value={row.reason} />
            </p>
          )}
        </div>
      </div>
    </li>
  );
}

/** A call in one line; its input and its result below, once opened. */
function Call({ row, isOpen }: { readonly row: AgentRow; readonly isOpen: boolean }) {
  const { tool = '', about, state, took, input, text } = row;
  const [isShown, setIsShown] = useState(isOpen);
  useEffect(() => {
    if (isOpen) setIsShown(true);
  }, [isOpen]);
  return (
    <details open={isShown} onToggle={event => setIsShown(event.currentTarget.open)}>
      <summary>
        <Icon path={STATES[state ?? 'open']} class={`mark ${TONES[state ?? 'open']}`} />
        <strong class="entry-tool">
          <Text value={tool} />
        </strong>
        <code class="entry-about">
          <Text value={inTree(about ?? '')} />
        </code>
        <span class="entry-end">
          {state !== 'ok' && <span class={`state ${state ?? 'open'}`}>{stateWord(row)}</span>}
          {took !== undefined && <span class="muted">{milliseconds(took)}</span>}
        </span>
      </summary>
      {isShown && (
        <div class="call-parts">
          {input && <Piece title="Input" value={input} name="input" />}
          {text && text.text !== row.reason && <Piece title="Result" value={text} name="result" />}
          {!text && <p class="muted">{state === null ? 'The call has no result.' : 'The result is empty.'}</p>}
        </div>
      )}
    </details>
  );
}

function Piece({
  title,
  value,
  name,
}: {
  readonly title: string;
  readonly value: NonNullable<AgentRow['text']>;
  readonly name: string;
}) {
  return (
    <div class="piece">
      <h3>{title}</h3>
      <LongText value={value} name={name} isCode />
    </div>
  );
}

function Said({ row }: { readonly row: AgentRow }) {
  const { kind, text, tool, about, reason } = row;
  const isTrouble = kind === 'note' && tool !== 'info';
  return (
    <div class="said">
      <span class="said-who">
        {kind === 'note' ? (tool === 'info' ? 'Note' : tool === 'error' ? 'Error' : 'Warning') : KIND_WORDS[kind]}
      </span>
      <div class="said-what" data-trouble={isTrouble}>
        {(kind === 'change' || kind === 'denial') && (
          <p>
            <strong>
              <Text value={tool ?? ''} />
            </strong>{' '}
            {about !== undefined && (
              <code>
                <Text value={inTree(about)} />
              </code>
            )}
          </p>
        )}
        {kind === 'final' && (
          <p>
            The agent <span class={`state ${row.state}`}>{stateWord(row)}</span>.
          </p>
        )}
        {reason !== undefined && <LongText value={{ text: reason }} name="reason" />}
        {kind === 'retry' && (
          <p>The model did not answer{row.took ? `; the agent retried for ${milliseconds(row.took)}` : ''}.</p>
        )}
        {text && <LongText value={text} name={KIND_WORDS[kind].toLowerCase()} isCode={kind === 'result'} />}
      </div>
    </div>
  );
}

const STATES = {
  ok: 'M4 8.5 7 11.5 12 5',
  failed: 'M5 5l6 6M11 5l-6 6',
  denied: 'M4.5 4.5l7 7M8 2.8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 0 1 8 2.8',
  open: 'M4 8h1M7.5 8h1M11 8h1',
} as const;
const TONES = { ok: 'tone-good', failed: 'tone-bad', denied: 'tone-unsure', open: 'tone-calm' } as const;
