import { useMemo } from 'preact/hooks';
import type { PageLine, RanStep, PageStream } from '../../../src/reports/pages/run-data.ts';
import { type AnsiPiece, ansiReader, withoutColours } from '../../shared/ansi.ts';
import { count, plural } from '../../shared/format.ts';
import { size } from '../../shared/size.ts';
import { plain, Text } from '../../shared/visible.tsx';
import { type RunAddress, showRunView } from './address.ts';
import { Card } from './card.tsx';

interface Props {
  readonly step: RanStep;
  readonly address: RunAddress;
  /** Shows stderr first. */
  readonly hasFailed: boolean;
}

/** What the program printed. */
export function Streams({ step, address, hasFailed }: Props) {
  const { find, raw } = address;
  const streams = hasFailed ? step.streams.toReversed() : step.streams;
  const hasText = streams.some(({ text }) => text !== null && text.lines.length > 0);
  return (
    <Card id="streams" title="Printed output">
      {hasText && (
        <div class="stream-tools" role="search">
          <input
            type="search"
            aria-label="Find in the printed output"
            placeholder="Find in the printed output"
            value={find}
            onInput={event => showRunView({ find: event.currentTarget.value, at: '' })}
          />
          {streams.some(hasColours) && (
            <button
              type="button"
              class="run-button"
              aria-pressed={raw === 'sequences'}
              onClick={() => showRunView({ raw: raw === '' ? 'sequences' : '' })}
            >
              {raw === '' ? 'Show terminal sequences' : 'Show colours'}
            </button>
          )}
        </div>
      )}
      {streams.map(stream => (
        <Stream key={stream.name} stream={stream} address={address} />
      ))}
    </Card>
  );
}

const textOf = (line: PageLine): string => (typeof line === 'string' ? line : line[0]);

const hasColours = ({ text }: PageStream): boolean =>
  text?.lines.some(line => withoutColours(textOf(line)) !== textOf(line)) === true;

function Stream({ stream, address }: { readonly stream: PageStream; readonly address: RunAddress }) {
  const { name, bytes_total, text } = stream;
  return (
    <section class="stream" aria-labelledby={`${name}-title`}>
      <h3 id={`${name}-title`}>
        {name} <span class="muted">{bytes_total === 0 ? 'empty' : size(bytes_total)}</span>
      </h3>
      {notesOf(stream).map(note => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      {text !== null && text.lines.length > 0 && <Lines stream={stream} address={address} />}
    </section>
  );
}

function notesOf({ bytes_total, bytes_kept, is_truncated, masked, file, text }: PageStream): string[] {
  const isColoured = text?.lines.some(line => OTHER_LOOKS.test(textOf(line))) === true;
  return [
    ...(is_truncated
      ? [
          `Proctor kept the first and last part: ${size(bytes_kept)} of ${size(bytes_total)}. A line in brackets marks the gap.`,
        ]
      : []),
    ...(masked > 0 ? [`Proctor masked ${plural(masked, 'secret')}.`] : []),
    ...(text === null && bytes_total > 0 ? [`The file ${file} cannot be read.`] : []),
    ...(text?.gap ? [`The page leaves out ${plural(text.gap.lines, 'line')}. All of them are in ${file}.`] : []),
    ...(text?.is_utf8 === false ? ['Bytes that are not UTF-8 are shown as U+FFFD.'] : []),
    ...(isColoured ? ['The page does not apply backgrounds, inverse or concealed text.'] : []),
  ];
}

/** Styles that could hide text. */
const OTHER_LOOKS = /\u001b\[(?:\d{1,3};){0,8}(?:[78]|4[0-8]|10[0-7])(?:;\d{1,3}){0,8}m/;

interface Row {
  readonly number: number;
  readonly line: PageLine;
  readonly pieces: readonly AnsiPiece[];
}

function Lines({ stream, address }: { readonly stream: PageStream; readonly address: RunAddress }) {
  const rows = useMemo(() => rowsOf(stream), [stream]);
  const { find } = address;
  const wanted = find.toLowerCase();
  const found =
    wanted === '' ? rows : rows.filter(({ line }) => withoutColours(textOf(line)).toLowerCase().includes(wanted));
  const gapAfter = wanted === '' ? stream.text?.gap?.after : undefined;
  return (
    <>
      {wanted !== '' && (
        <p class="note" role="status">
          {found.length === 0 ? 'No line' : plural(found.length, 'line')} of {count(rows.length)}{' '}
          {found.length === 1 ? 'contains' : 'contain'} “{plain(find)}”.
        </p>
      )}
      {found.length > 0 && (
        <div
          class="lines"
          data-long={found.length > LONG}
          role="region"
          aria-label={`Lines of ${stream.name}`}
          tabIndex={0}
        >
          <ol>
            {found.map((row, index) => (
              <>
                {gapAfter !== undefined && index === gapAfter && (
                  <li class="gap" key="gap">
                    {plural(stream.text?.gap?.lines ?? 0, 'line')} left out
                  </li>
                )}
                <LineRow key={row.number} row={row} name={stream.name} address={address} />
              </>
            ))}
          </ol>
        </div>
      )}
    </>
  );
}

interface LineProps {
  readonly row: Row;
  readonly name: string;
  readonly address: RunAddress;
}

/** A line with its number, which links to it. */
function LineRow({ row, name, address }: LineProps) {
  const id = `${name}-${row.number}`;
  return (
    <li id={id} tabIndex={-1} aria-current={address.at === id ? 'true' : undefined}>
      <a
        class="line-number"
        href={`#at=${id}`}
        aria-label={`Line ${row.number}`}
        tabIndex={-1}
        onClick={event => {
          event.preventDefault();
          showRunView({ at: id });
        }}
      >
        {row.number}
      </a>
      <span class="line-text">
        <LineText row={row} find={address.find} isRaw={address.raw !== ''} />
        {typeof row.line !== 'string' && <span class="line-cut"> … {size(row.line[1])} more</span>}
      </span>
    </li>
  );
}

function rowsOf({ text }: PageStream): Row[] {
  const read = ansiReader();
  const { lines = [], gap } = text ?? {};
  return lines.map((line, index) => ({
    number: index + 1 + (gap && index >= gap.after ? gap.lines : 0),
    line,
    pieces: read(textOf(line)),
  }));
}

function LineText({ row, find, isRaw }: { readonly row: Row; readonly find: string; readonly isRaw: boolean }) {
  if (find !== '') return <Found text={withoutColours(textOf(row.line))} find={find} />;
  if (isRaw) return <Text value={textOf(row.line)} />;
  return (
    <>
      {row.pieces.map(({ text, style }, index) =>
        style === '' ? (
          <Text key={index} value={text} />
        ) : (
          <span key={index} class={style}>
            <Text value={text} />
          </span>
        ),
      )}
    </>
  );
}

/** A line with every match marked. */
function Found({ text, find }: { readonly text: string; readonly find: string }) {
  const parts = [];
  const [low, wanted] = [text.toLowerCase(), find.toLowerCase()];
  // Lower case can change the length of a text. Then positions do not match, and nothing is marked.
  if (low.length !== text.length) return <Text value={text} />;
  let end = 0;
  for (let at = low.indexOf(wanted); at >= 0 && parts.length < MARKS_MAX; at = low.indexOf(wanted, end)) {
    parts.push(
      <Text value={text.slice(end, at)} />,
      <mark>
        <Text value={text.slice(at, at + wanted.length)} />
      </mark>,
    );
    end = at + wanted.length;
  }
  return (
    <>
      {parts}
      <Text value={text.slice(end)} />
    </>
  );
}

const MARKS_MAX = 200;

/** From here on, the browser draws only the lines in view. */
const LONG = 300;
