import type { RunEvent } from '../../../src/contracts/run-events.ts';
import { useEffect, useRef } from 'preact/hooks';
import { Text } from '../../shared/visible.tsx';
import type { Followed } from './use-events.ts';

/** What a running program prints, as it happens. The page below has all of it after the run. */
export function LiveOutput({ followed: { streamed, isConnected } }: { readonly followed: Followed }) {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = box.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [streamed]);
  return (
    <section class="card live-output" aria-labelledby="output">
      <h2 id="output">
        Now <span class="muted">{isConnected ? 'live' : 'connecting…'}</span>
      </h2>
      <pre
        ref={box}
        tabIndex={0}
        aria-label="Newest output"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 8;
        }}
      >
        {streamed.length === 0 && <span class="muted">No output yet.</span>}
        {streamed.map((event, index) => (
          <Line key={keyOf(event, index)} event={event} />
        ))}
      </pre>
    </section>
  );
}

const keyOf = (event: RunEvent, index: number): string =>
  'from' in event.data
    ? `${event.kind}-${'stream' in event.data ? event.data.stream : ''}-${event.data.from}`
    : `${index}`;

function Line({ event }: { readonly event: RunEvent }) {
  if (event.kind === 'output') {
    return (
      <span class={event.data.stream === 'stderr' ? 'live-stderr' : ''}>
        <Text value={event.data.text.slice(0, TEXT_CHARS_MAX)} />
      </span>
    );
  }
  if (event.kind === 'transcript') {
    return (
      <span>
        <Text value={`${entryText(event.data.entry).slice(0, TEXT_CHARS_MAX)}\n`} />
      </span>
    );
  }
  return <span class="muted">{'The stream continues, but the server sends no more of it.\n'}</span>;
}

const TEXT_CHARS_MAX = 4_000;

type Entry = Extract<RunEvent, { kind: 'transcript' }>['data']['entry'];

/** One entry of a transcript in one line or paragraph. */
function entryText(entry: Entry): string {
  switch (entry.kind) {
    case 'message':
      return `${entry.role}: ${entry.body.text}`;
    case 'thinking':
      return `thinks: ${entry.body.text}`;
    case 'tool_call':
      return `calls ${entry.tool}: ${entry.command?.text ?? entry.path ?? entry.input.text}`;
    case 'tool_result':
      return `${entry.ok ? 'result' : 'failed'}: ${entry.output.text.trimEnd() || 'no output'}`;
    case 'file_change':
      return `${entry.change} ${entry.path}`;
    case 'denial':
      return `denied ${entry.tool}: ${entry.reason}`;
    case 'final':
      return `final: ${entry.body?.text ?? ''}`;
    case 'note':
      return `${entry.level}: ${entry.text}`;
    case 'retry':
      return `retries: ${entry.message}`;
    default:
      return entry.kind;
  }
}
