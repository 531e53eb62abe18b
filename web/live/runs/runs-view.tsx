import type { RunListPage } from '../../../src/serve/runs/run-list.ts';
import type { RunRow } from '../../../src/serve/runs/run-index.ts';
import { count, instant, plural } from '../../shared/format.ts';
import { RunId } from '../../shared/run-id.tsx';
import { Text } from '../../shared/visible.tsx';
import { Choice, SearchField } from '../fields.tsx';
import { Notice, Refused, Stale } from '../notice.tsx';
import { hrefWith, type Place, visit } from '../router.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';
import { kindWord, Progress, StatePill, stateTone, tookOf } from './run-words.tsx';

const KEYS = ['kind', 'state', 'q', 'sort', 'after'] as const;

/** All runs, newest first. The server filters, sorts and pages. */
export function RunsView({ place }: ViewProps) {
  const asked = new URLSearchParams(
    KEYS.flatMap(key => (place.query.get(key) ? [[key, place.query.get(key) ?? '']] : [])),
  );
  const { value, refusal, again } = useAnswer<RunListPage>(`/v1/runs?limit=${PAGE_ROWS}&${asked.toString()}`, EVERY_MS);
  useTitle('Runs');
  return (
    <>
      <div class="live-heading">
        <h1>Runs</h1>
        <span class="muted" role="status">
          {typeof value?.total === 'number' && plural(value.total, 'run')}
        </span>
      </div>
      <RunFilters place={place} />
      {value && <Stale refusal={refusal} />}
      {value ? (
        <RunTable page={value} place={place} isFiltered={asked.size > 0} />
      ) : refusal?.code === 'page_gone' ? (
        <Notice
          title="This page is gone"
          text={refusal.message}
          action={['First page', () => visit(hrefWith(place, { after: '' }))]}
        />
      ) : refusal ? (
        <Refused refusal={refusal} again={again} />
      ) : (
        <p class="live-wait">Loading…</p>
      )}
    </>
  );
}

const PAGE_ROWS = 50;
const EVERY_MS = 2_000;

const KINDS = [
  ['', 'All kinds'],
  ['new', 'Suites (candidate)'],
  ['baseline', 'Suites (baseline)'],
  ['agent', 'Agents'],
  ['script', 'Scripts'],
  ['intent', 'Intents'],
] as const;

const STATES = [
  ['', 'All states'],
  ['running', 'Running'],
  ['waiting', 'Waiting'],
  ['finished', 'Finished'],
  ['interrupted', 'Interrupted'],
  ['foreign', 'From elsewhere'],
  ['unreadable', 'Unreadable'],
] as const;

const SORTS = [
  ['', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['longest', 'Longest first'],
] as const;

function RunFilters({ place }: { readonly place: Place }) {
  return (
    <div class="live-filters" role="search">
      <SearchField place={place} label="Search by id or subject" />
      <Choice place={place} name="kind" label="Kind" choices={KINDS} />
      <Choice place={place} name="state" label="State" choices={STATES} />
      <Choice place={place} name="sort" label="Order" choices={SORTS} />
    </div>
  );
}

interface TableProps {
  readonly page: RunListPage;
  readonly place: Place;
  readonly isFiltered: boolean;
}

function RunTable({ page, place, isFiltered }: TableProps) {
  if (page.runs.length === 0) {
    return isFiltered ? (
      <Notice title="No run matches" text="Try fewer filters, or another word." />
    ) : (
      <Notice title="No runs yet" text="Start one with proctor run, and it appears here." />
    );
  }
  return (
    <>
      <div class="card live-list">
        <table class="stacked live-table">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Run</th>
              <th scope="col">Kind</th>
              <th scope="col">Started</th>
              <th scope="col">Took</th>
            </tr>
          </thead>
          <tbody>
            {page.runs.map(run => (
              <Row key={run.run_id} run={run} />
            ))}
          </tbody>
        </table>
      </div>
      <nav class="live-pages" aria-label="Pages of runs">
        {place.query.has('after') && <a href={hrefWith(place, { after: '' })}>First page</a>}
        {page.next !== null && <a href={hrefWith(place, { after: page.next })}>Next {count(PAGE_ROWS)} runs</a>}
      </nav>
    </>
  );
}

function Row({ run }: { readonly run: RunRow }) {
  return (
    <tr data-tone={stateTone(run)} data-state={run.state}>
      <td class="live-state">
        <StatePill run={run} />
      </td>
      <td class="live-run">
        <a href={`/runs/${encodeURIComponent(run.run_id)}`} data-row>
          <RunId value={run.run_id} />
        </a>
        {run.progress ? (
          <Progress run={run} />
        ) : (
          run.subject !== null && (
            <span class="live-subject">
              <Text value={subjectOf(run)} />
            </span>
          )
        )}
      </td>
      <td data-label="Kind">{kindWord(run.kind)}</td>
      <td data-label="Started">{startedText(run)}</td>
      <td data-label="Took">{tookOf(run) || '–'}</td>
    </tr>
  );
}

/** The subject without the side of a suite, which the list shows as its kind. */
function subjectOf({ kind, subject }: RunRow): string {
  const side = `${kind}, `;
  return subject?.startsWith(side) ? subject.slice(side.length) : (subject ?? '');
}

function startedText({ state, started_at: startedAt }: RunRow): string {
  if (startedAt !== null) return instant(startedAt);
  return state === 'waiting' ? 'not yet' : 'unknown';
}
