import type { HistoryCase, SuiteHistory } from '../../../src/reports/pages/history-data.ts';
import { count } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { useHistoryLinks } from './links.ts';
import { percent, SinceWords, StatePill } from './parts.tsx';

/** The cases whose state is anything but "passes", failures first. */
export function Attention({ suite }: { readonly suite: SuiteHistory }) {
  const { states, cases } = suite;
  const wanted = states.fails + states.flaky + states.fixed + states.gone + states.unknown;
  const shown = cases.filter(({ state }) => state !== 'passes').slice(0, SHOWN_MAX);
  return (
    <section class="history-part" aria-labelledby="attention">
      <h3 id="attention">Cases that changed</h3>
      {shown.length === 0 ? (
        <p class="muted">No case fails, and none changed in these runs.</p>
      ) : (
        <ul class="changed-cases">
          {shown.map(one => (
            <ChangedCase key={one.case_id} suite={suite} one={one} />
          ))}
        </ul>
      )}
      {wanted > shown.length && <p class="muted">{count(wanted - shown.length)} more are not shown here.</p>}
    </section>
  );
}

const SHOWN_MAX = 20;

function ChangedCase({ suite, one }: { readonly suite: SuiteHistory; readonly one: HistoryCase }) {
  const { case_id, state, since, flakiness } = one;
  const links = useHistoryLinks();
  return (
    <li class="card changed-case">
      <p class="changed-title">
        <StatePill state={state} />
        <a href={links.view({ suite: suite.name, case: case_id })}>
          <Text value={case_id} />
        </a>
        <span class="muted">
          {since && <SinceWords since={since} />}
          {flakiness !== null && flakiness > 0 && `${since ? ', ' : ''}flakiness ${percent(flakiness)}`}
        </span>
      </p>
      <Reasons one={one} />
    </li>
  );
}

/** Why a failing case failed. */
export function Reasons({ one: { state, message, cause } }: { readonly one: HistoryCase }) {
  if (state !== 'fails' && state !== 'flaky') return null;
  return (
    <>
      {message !== null && (
        <p class="case-reason">
          <Text value={message} />
        </p>
      )}
      {cause !== null && (
        <p class="case-reason">
          <span class="muted">Cause: </span>
          <Text value={cause} />
        </p>
      )}
    </>
  );
}
