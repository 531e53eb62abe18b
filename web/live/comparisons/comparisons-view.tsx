import type { ComparisonListPage } from '../../../src/serve/runs/comparisons.ts';
import type { ComparisonRow } from '../../../src/verbs/reading/comparison-list.ts';
import { count, instant } from '../../shared/format.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { RunId } from '../../shared/run-id.tsx';
import { Text } from '../../shared/visible.tsx';
import { Notice, Refused, Stale } from '../notice.tsx';
import { hrefWith } from '../router.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';

/** All sealed comparisons, newest first, or those of one run. */
export function ComparisonsView({ place }: ViewProps) {
  const keys = ['run', 'after'].flatMap(key => (place.query.get(key) ? [[key, place.query.get(key) ?? '']] : []));
  const { value, refusal, again } = useAnswer<ComparisonListPage>(
    `/v1/comparisons?${new URLSearchParams(keys).toString()}`,
    EVERY_MS,
  );
  useTitle('Comparisons');
  if (!value) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  const { comparisons, next } = value;
  return (
    <>
      <div class="live-heading">
        <h1>Comparisons</h1>
        {place.query.has('run') && <a href="/comparisons">Show all</a>}
      </div>
      <Stale refusal={refusal} />
      {comparisons.length === 0 ? (
        <Notice title="No comparisons yet" text="Open a suite run, and compare it with a baseline." />
      ) : (
        <div class="card live-list">
          <table class="stacked live-table">
            <thead>
              <tr>
                <th scope="col">Verdict</th>
                <th scope="col">Comparison</th>
                <th scope="col">Regressed</th>
                <th scope="col">Improved</th>
                <th scope="col">Made</th>
              </tr>
            </thead>
            <tbody>
              {comparisons.map(row => (
                <Row key={row.comparison_id} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <nav class="live-pages" aria-label="Pages of comparisons">
        {place.query.has('after') && <a href={hrefWith(place, { after: '' })}>First page</a>}
        {next !== null && <a href={hrefWith(place, { after: next })}>Older comparisons</a>}
      </nav>
    </>
  );
}

const EVERY_MS = 10_000;

const TONES = { no_regression: 'good', regression: 'bad', not_enough_evidence: 'unsure' } as const;

function Row({ row }: { readonly row: ComparisonRow }) {
  const { comparison_id: id, verdict, word, message, baseline, candidate, summary, generated_at: at } = row;
  const tone = verdict === null ? 'unsure' : TONES[verdict];
  return (
    <tr data-tone={tone}>
      <td class="live-state">
        <span class={`pill tone-${tone}`}>
          <Icon path={VERDICT_ICONS[tone]} />
          {word ?? 'not trusted'}
        </span>
      </td>
      <td class="live-run">
        <a href={`/comparisons/${encodeURIComponent(id)}`} data-row>
          <RunId value={id} />
        </a>
        <span class="live-subject">
          <Text value={message ?? `${baseline?.run_ids[0] ?? 'nothing'} → ${candidate?.run_ids[0] ?? 'nothing'}`} />
        </span>
      </td>
      <td data-label="Regressed">{summary ? count(summary.regressed) : 'unknown'}</td>
      <td data-label="Improved">{summary ? count(summary.improved) : 'unknown'}</td>
      <td data-label="Made">{at === null ? 'unknown' : instant(at)}</td>
    </tr>
  );
}
