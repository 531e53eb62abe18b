import type { RunEvent } from '../../../src/contracts/run-events.ts';
import { milliseconds, plural } from '../../shared/format.ts';
import { KINDS, Mark } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import type { CaseEvent, Followed } from './use-events.ts';

/** A long list scrolls, also with the keyboard. */
const SCROLLS = { tabIndex: 0 } as const;

/** The newest lines of a run's journal, each once. */
export function LatestEvents({ followed: { latest, isConnected } }: { readonly followed: Followed }) {
  return (
    <section class="card live-events" aria-labelledby="latest">
      <h2 id="latest">
        Latest <span class="muted">{isConnected ? 'live' : 'connecting…'}</span>
      </h2>
      {latest.length === 0 && <p class="note">Nothing has happened yet.</p>}
      <ol {...SCROLLS}>
        {latest.map((event, index) => (
          <li key={event.id ?? `${event.kind}-${index}`} data-event={event.id ?? event.kind}>
            <EventText event={event} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The cases that failed so far, before everything else that happens. */
export function FailingCases({ followed: { failing } }: { readonly followed: Followed }) {
  if (failing.length === 0) return null;
  return (
    <section class="card live-events" aria-labelledby="failing">
      <h2 id="failing">
        Failing cases <span class="muted">the newest {plural(failing.length, 'case')}</span>
      </h2>
      <ol {...SCROLLS}>
        {failing.map(event => (
          <li key={event.data.case_id}>
            <CaseText event={event} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function EventText({ event }: { readonly event: RunEvent }) {
  if (event.kind === 'case') return <CaseText event={event} />;
  return (
    <>
      <Text value={textOf(event)} />
      {event.kind === 'running' && <RunLink id={event.data.run_id} />}
    </>
  );
}

function CaseText({ event }: { readonly event: CaseEvent }) {
  const { case_id: id, verdict, status, attempts, latency_ms: took, error_class: error, message } = event.data;
  const kind = status === 'runner_error' ? 'error' : (verdict ?? 'unjudged');
  const facts = [
    took === null ? '' : milliseconds(took),
    attempts > 1 ? plural(attempts, 'attempt') : '',
    error ?? '',
    message ?? '',
  ];
  return (
    <>
      <Mark kind={kind} />
      <span class="unseen">{KINDS[kind].word}: </span>
      <code>
        <Text value={id} />
      </code>
      <span class="muted">
        <Text value={facts.filter(Boolean).join(' · ')} />
      </span>
      {event.data.run_id !== null && <RunLink id={event.data.run_id} />}
    </>
  );
}

function RunLink({ id }: { readonly id: string }) {
  return <a href={`/runs/${encodeURIComponent(id)}`}>its run</a>;
}

function textOf(event: RunEvent): string {
  switch (event.kind) {
    case 'planned':
      return event.data.cases === null ? 'Planned.' : `Planned ${plural(event.data.cases, 'case')}.`;
    case 'sent':
      return event.data.attempt > 1
        ? `Sent ${event.data.case_id} again, attempt ${event.data.attempt}.`
        : `Sent ${event.data.case_id}.`;
    case 'running':
      return `The run for ${event.data.case_id} has started.`;
    case 'failed':
      return `Attempt ${event.data.attempt} of ${event.data.case_id} failed: ${event.data.error_class ?? event.data.message ?? 'unknown'}.`;
    case 'noted':
      return `${event.data.check ?? 'A check'}: ${event.data.verdict ?? 'noted'}.`;
    case 'captured':
      return `The program ended: ${event.data.ending.replaceAll('_', ' ')}.`;
    default:
      return SENTENCES[event.kind] ?? event.kind;
  }
}

const SENTENCES: Partial<Record<RunEvent['kind'], string>> = {
  laying: 'Proctor stores the cases.',
  begun: 'A process began to work.',
  left: 'The process released the run. It can be resumed.',
  started: 'The program started.',
  read: 'Proctor has read the result.',
  dead: 'The process that ran it is gone.',
  foreign: 'Another user or machine started this run.',
  sealed: 'The run is sealed.',
  gone: 'The run folder was removed.',
};
