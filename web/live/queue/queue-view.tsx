import { useEffect, useState } from 'preact/hooks';
import type { QueueView } from '../../../src/serve/workers/queue-view.ts';
import { Card } from '../../shared/card.tsx';
import { CommandList } from '../../shared/copy.tsx';
import { count, milliseconds, plural } from '../../shared/format.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { Refused, Stale } from '../notice.tsx';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';

/** The queue of the team: what waits, what is active, what was lost, and the workers. */
export function QueuePage() {
  const [everyMs, setEveryMs] = useState<number | undefined>(EVERY_MS);
  const { value: queue, refusal, again } = useAnswer<QueueView>('/v1/queue', everyMs);
  const isMissing = refusal?.code === 'no_queue';
  useTitle(queue && queue.totals.waiting > 0 ? `${count(queue.totals.waiting)} waiting · Queue` : 'Queue');
  useEffect(() => setEveryMs(isMissing ? undefined : EVERY_MS), [isMissing]);
  if (isMissing) return <NoQueue />;
  if (!queue) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  return (
    <>
      <div class="live-heading">
        <h1>Queue</h1>
        <span class="muted" role="status">
          {stateOf(queue)}
        </span>
      </div>
      <Stale refusal={refusal} />
      <div class="live-cards">
        <Totals queue={queue} />
        {queue.totals.workers === 0 && <NoWorker />}
        <NeedsCard queue={queue} />
        {queue.totals.workers > 0 && <WorkersCard queue={queue} />}
      </div>
    </>
  );
}

/** The server asks the database at most once a second. */
const EVERY_MS = 2_000;

/** A screen reader reads this again when it changes, so it has no numbers. */
function stateOf({ needs, totals }: QueueView): string {
  if (needs.some(row => row.waiting > 0 && row.workers === 0))
    return 'Some attempts wait for a worker that offers them';
  if (totals.waiting > 0) return 'Attempts wait for a free slot';
  return totals.active > 0 ? 'Nothing waits' : 'Nothing waits, and nothing is active';
}

function Totals({ queue: { totals, lost_last_hour: lost } }: { readonly queue: QueueView }) {
  const facts = [
    ['Waiting', count(totals.waiting)],
    ['Oldest waits', ageText(totals.oldest_waiting_ms)],
    ['Active', count(totals.active)],
    ['Busy slots', `${count(totals.busy_slots)} of ${count(totals.slots)}`],
    ['Workers', count(totals.workers)],
    ['Lost in the last hour', count(lost)],
  ] as const;
  return (
    <section class="card" aria-label="Totals">
      <dl class="live-totals">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function NeedsCard({ queue: { needs, totals } }: { readonly queue: QueueView }) {
  return (
    <Card id="needs" title="Attempts by what they need" note={leftOut(needs.length, totals.needs)}>
      {needs.length === 0 ? (
        <p class="note">Nothing waits. Conductors offer attempts here with proctor run suite --queue.</p>
      ) : (
        <table class="stacked live-table">
          <thead>
            <tr>
              <th scope="col">Needs</th>
              <th scope="col">Waiting</th>
              <th scope="col">Oldest</th>
              <th scope="col">Active</th>
              <th scope="col">Workers</th>
            </tr>
          </thead>
          <tbody>
            {needs.map(row => (
              <tr key={row.needs}>
                <th scope="row" class="live-run" tabIndex={-1} data-row>
                  <Text value={row.needs} />
                </th>
                <td data-label="Waiting">{count(row.waiting)}</td>
                <td data-label="Oldest">{ageText(row.oldest_waiting_ms)}</td>
                <td data-label="Active">{count(row.active)}</td>
                <td data-label="Workers">
                  {row.waiting > 0 && row.workers === 0 ? <UnofferedPill /> : count(row.workers)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function UnofferedPill() {
  return (
    <span class="pill tone-unsure">
      <Icon path={VERDICT_ICONS.unsure} />
      none offers it
    </span>
  );
}

function WorkersCard({ queue: { workers, totals } }: { readonly queue: QueueView }) {
  return (
    <Card id="workers" title="Workers" note={leftOut(workers.length, totals.workers)}>
      <table class="stacked live-table">
        <thead>
          <tr>
            <th scope="col">Worker</th>
            <th scope="col">Busy slots</th>
            <th scope="col">Version</th>
            <th scope="col">Last seen</th>
          </tr>
        </thead>
        <tbody>
          {workers.map(({ worker, slots, active, version, last_seen_ms: seen }) => (
            <tr key={worker}>
              <th scope="row" class="live-run" tabIndex={-1} data-row>
                <Text value={worker} />
              </th>
              <td data-label="Busy slots">
                {count(active)} of {count(slots)}
              </td>
              <td data-label="Version">
                <Text value={version} />
              </td>
              <td data-label="Last seen">{seen < 1_000 ? 'now' : `${wholeTime(seen)} ago`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

const leftOut = (shown: number, total: number): string =>
  shown < total ? `${count(shown)} of ${plural(total, 'row')}` : '';

const ageText = (ms: number | null): string => (ms === null ? 'nothing waits' : wholeTime(ms));

/** Ages change with every look, so smaller units say nothing. */
const wholeTime = (ms: number): string => (ms < 1_000 ? 'under 1 s' : milliseconds(Math.floor(ms / 1_000) * 1_000));

function NoWorker() {
  return (
    <Card id="no-worker" title="No worker is connected">
      <p class="live-below-title">
        Attempts wait until a worker offers what they need. Scripts and agents run only on workers with{' '}
        <code>--allow-script</code> or <code>--allow-agent</code>. A worker that was not seen for a minute is not
        listed.
      </p>
      <CommandList
        commands={[
          {
            does: 'Create a token for workers, in the project folder of the server',
            command: 'proctor token new --role worker --name "lab machines"',
          },
          {
            does: 'Start a worker, on any machine that reaches this server',
            command: `PROCTOR_TOKEN=… proctor worker --on ${location.origin} --slots 8`,
          },
        ]}
      />
    </Card>
  );
}

function NoQueue() {
  return (
    <>
      <div class="live-heading">
        <h1>Queue</h1>
        <span class="muted">This server has no queue</span>
      </div>
      <div class="live-cards">
        <Card id="no-queue" title="Run suites on many machines">
          <p class="live-below-title">
            A team can share one queue in PostgreSQL: a suite offers its attempts, and workers on other machines make
            them. On one machine, you need no queue.
          </p>
          <CommandList
            commands={[
              {
                does: 'Name the database. The variable keeps its password off the command line',
                command: 'export PROCTOR_QUEUE=postgres://proctor:PASSWORD@db.example/proctor',
              },
              { does: 'Create the tables, once', command: 'proctor queue migrate' },
              { does: 'Start this server with the queue', command: 'proctor serve --queue' },
            ]}
          />
        </Card>
      </div>
    </>
  );
}
