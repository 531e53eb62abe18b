import type { History, SuiteHistory } from '../../../src/reports/pages/history-data.ts';
import { plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { type HistoryAddress, useHistoryAddress } from './address.ts';
import { Attention } from './attention.tsx';
import { CaseLine } from './case-line.tsx';
import { Charts } from './charts.tsx';
import { HeatMap } from './heat-map.tsx';
import { useHistoryLinks } from './links.ts';
import { Remarks } from './remarks.tsx';
import { RunsTable } from './runs-table.tsx';
import { Suites } from './suites.tsx';

/** The page in a file, whose fragment names the view. */
export function HistoryBody({ data }: { readonly data: History }) {
  const address = useHistoryAddress({ suite: data.suite, case: data.case_id });
  return <HistoryParts data={data} address={address} isOnly={data.suites.length === 1} />;
}

interface HistoryProps {
  readonly data: History;
  readonly address: HistoryAddress;
  /** There is one suite, and no list of suites. */
  readonly isOnly: boolean;
}

/** All suites, one suite, or one case. */
export function HistoryParts({ data, address, isOnly }: HistoryProps) {
  const [only] = isOnly ? data.suites : [];
  const suite = data.suites.find(({ name }) => name === address.suite) ?? only;
  const one = suite?.cases.find(({ case_id }) => case_id === address.case);
  return (
    <div class="history">
      {suite && <Crumbs suite={suite} caseId={one?.case_id ?? null} isOnly={isOnly} />}
      {!suite && <Suites suites={data.suites} />}
      {suite && !one && <SuiteView suite={suite} />}
      {suite && one && <CaseLine suite={suite} one={one} />}
      <Remarks data={data} />
    </div>
  );
}

function SuiteView({ suite }: { readonly suite: SuiteHistory }) {
  return (
    <>
      <Attention suite={suite} />
      <HeatMap suite={suite} />
      <Charts suite={suite} />
      <RunsTable suite={suite} />
    </>
  );
}

interface CrumbsProps {
  readonly suite: SuiteHistory;
  readonly caseId: string | null;
  readonly isOnly: boolean;
}

/** The way back to the suite and to all suites. */
function Crumbs({ suite, caseId, isOnly }: CrumbsProps) {
  const runs = plural(suite.runs.length, 'run');
  const links = useHistoryLinks();
  if (isOnly && caseId === null)
    return (
      <h2 class="history-title">
        <Text value={suite.name} /> <span class="muted">{runs}</span>
      </h2>
    );
  return (
    <nav class="crumbs" aria-label="Path">
      {!isOnly && <a href={links.view({ suite: null, case: null })}>All suites</a>}
      {caseId === null ? (
        <h2 class="history-title">
          <Text value={suite.name} /> <span class="muted">{runs}</span>
        </h2>
      ) : (
        <a href={links.view({ suite: suite.name, case: null })}>
          <Text value={suite.name} />
        </a>
      )}
    </nav>
  );
}
