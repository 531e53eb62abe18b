import type { AgentPage } from '../../../src/reports/pages/agent-page-data.ts';
import { count, plural } from '../../shared/format.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { Probe } from '../probe.tsx';

/** What was requested, enforced and observed, side by side. */
export function Policy({ data: { policy } }: { readonly data: AgentPage }) {
  if (!policy) return <p class="muted">unknown: the run has no policy summary</p>;
  const { rows, violations, violationsTotal, tightened, notes } = policy;
  return (
    <>
      <Dimensions rows={rows} />
      <h3 class="small-title">
        Violations {violationsTotal === null && <span class="muted">known after the run</span>}
        {violationsTotal === 0 && <span class="muted">none found</span>}
      </h3>
      {violations.length > 0 && (
        <ul class="review">
          {violations.map(({ hard, kind, text }, index) => (
            <li key={index} data-tone={hard ? 'bad' : 'unsure'}>
              <Icon path={VERDICT_ICONS[hard ? 'bad' : 'unsure']} />
              <p>
                <strong>{kind}</strong> {hard && <span class="tag">blocks apply</span>} <Text value={text} />
              </p>
            </li>
          ))}
          {violationsTotal !== null && violationsTotal > violations.length && (
            <li class="muted">and {count(violationsTotal - violations.length)} more</li>
          )}
        </ul>
      )}
      {policy.networkAttempts !== null && policy.networkAttempts > 0 && (
        <p class="note">{plural(policy.networkAttempts, 'attempt')} to reach a network that is not available.</p>
      )}
      {tightened.length > 0 && <Notes title="Tightened" lines={tightened} />}
      <Limits policy={policy} />
      {notes.length > 0 && <Notes title={`How it was enforced (${plural(notes.length, 'note')})`} lines={notes} />}
    </>
  );
}

function Dimensions({ rows }: Pick<NonNullable<AgentPage['policy']>, 'rows'>) {
  return (
    <div class="table-box" role="region" aria-label="Asked, enforced and observed" tabIndex={0}>
      <table class="stacked policy">
        <thead>
          <tr>
            <td />
            <th scope="col">Asked</th>
            <th scope="col">Enforced</th>
            <th scope="col">Observed before the run</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ dimension, asked, enforced, observed }) => (
            <tr key={dimension}>
              <th scope="row">{dimension}</th>
              <td data-label="Asked">
                <Text value={asked} />
              </td>
              <td data-label="Enforced">
                <Text value={enforced} />
              </td>
              <td data-label="Observed">
                {observed.length === 0 && <span class="muted">not probed</span>}
                {observed.map(({ held, text }) => (
                  <Probe key={text} held={held} note={text} />
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Notes({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  return (
    <details class="more">
      <summary>{title}</summary>
      <ul class="bullets">
        {lines.map((line, index) => (
          <li key={index}>
            <Text value={line} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Limits({ policy: { limits, clocks } }: { readonly policy: NonNullable<AgentPage['policy']> }) {
  if (limits.length === 0 && clocks.length === 0) return null;
  return (
    <details class="more">
      <summary>Limits ({plural(limits.length + clocks.length, 'limit')})</summary>
      <dl class="limits">
        {clocks.map(({ name, value, note }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value} {note && <span class="muted">{note}</span>}
            </dd>
          </div>
        ))}
        {limits.map(({ limit, value, claim }) => (
          <div key={limit}>
            <dt>{limit}</dt>
            <dd>
              {value} <span class="muted">{claim}</span>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
