import type { History } from '../../../src/reports/pages/history-data.ts';
import { plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';

/** What the page does not show, and why. */
export function Remarks({ data }: { readonly data: History }) {
  const { suites, suites_total, unreadable, unreadable_total, unfinished, not_read } = data;
  const left = suites_total - suites.length;
  if (left + unreadable_total + unfinished + not_read === 0) return null;
  return (
    <section class="history-part" aria-labelledby="remarks">
      <h3 id="remarks">Not on this page</h3>
      <ul class="remarks">
        {left > 0 && <li>{plural(left, 'more suite')}</li>}
        {unfinished > 0 && <li>{plural(unfinished, 'run')} not finished</li>}
        {not_read > 0 && <li>{plural(not_read, 'older run folder')} not read</li>}
        {unreadable.map(({ run_id, why }) => (
          <li key={run_id}>
            <code>
              <Text value={run_id} />
            </code>
            : <Text value={why} />
          </li>
        ))}
        {unreadable_total > unreadable.length && (
          <li>{plural(unreadable_total - unreadable.length, 'more run')} that cannot be used</li>
        )}
      </ul>
    </section>
  );
}
