import type { HistoryRun } from '../../../src/reports/pages/history-data.ts';
import type { SmallPage } from '../../../src/reports/pages/page-kinds.ts';
import type { HistoryAddress } from '../../pages/history/address.ts';
import { HistoryParts } from '../../pages/history/history.tsx';
import { HistoryLinksProvider } from '../../pages/history/links.ts';
import { instant } from '../../shared/format.ts';
import { Says } from '../../shared/says.tsx';
import { Text } from '../../shared/visible.tsx';
import { Refused, Stale } from '../notice.tsx';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';

/** All suites, one suite or one case over time. */
export function HistoryPage({ parts: [suite, caseId] }: ViewProps) {
  const address = { suite: suite ?? null, case: caseId ?? null };
  const { value: page, refusal, again } = useAnswer<SmallPage<'history'>>(apiOf(address), EVERY_MS);
  useTitle(page ? `${page.top.word} · history of ${page.top.id}` : 'History');
  if (!page) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  return (
    <>
      <section class="verdict live-verdict" data-tone={page.top.tone} aria-label="Verdict">
        <p class="live-what">
          {page.top.subject}{' '}
          <code>
            <Text value={page.top.id} />
          </code>
          {page.top.at !== null && <span class="when"> · {instant(page.top.at)}</span>}
        </p>
        <Says top={page.top} />
      </section>
      <Stale refusal={refusal} />
      <HistoryLinksProvider value={LINKS}>
        <HistoryParts data={page.data} address={{ suite: page.data.suite, case: address.case }} isOnly={false} />
      </HistoryLinksProvider>
    </>
  );
}

/** A history changes only when a run ends. */
const EVERY_MS = 15_000;

const LINKS = { view: pathOf, run: runPath };

function pathOf({ suite, case: id }: HistoryAddress): string {
  const names = [suite, id].filter(name => name !== null).map(encodeURIComponent);
  return ['/history', ...names].join('/');
}

function runPath({ run_id: id }: HistoryRun): string {
  return `/runs/${encodeURIComponent(id)}`;
}

function apiOf({ suite, case: id }: HistoryAddress): string {
  if (suite === null) return '/v1/history';
  const ofSuite = `/v1/history/${encodeURIComponent(suite)}`;
  return id === null ? ofSuite : `${ofSuite}/cases/${encodeURIComponent(id)}`;
}
