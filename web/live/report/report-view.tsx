import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { addressIn } from '../../report/address.ts';
import { VerdictSays } from '../../report/header.tsx';
import { useKeys } from '../../report/keys.tsx';
import { CasesPane, ReportContent, reportKeys, viewIn, ViewTabs } from '../../report/panes.tsx';
import { useCases } from '../../report/use-cases.ts';
import { SourceProvider, useSource } from '../../shared/source.ts';
import { Stale } from '../notice.tsx';
import type { Place } from '../router.ts';
import { useTitle } from '../title.ts';
import type { Asked } from '../use-answer.ts';
import type { ReportAnswer } from './case-rows.ts';
import { useServerSource } from './server-source.ts';

interface Props {
  /** The path of the view, such as `/runs/ID`. */
  readonly base: string;
  readonly place: Place;
  /** What the report is about. */
  readonly bar: ComponentChildren;
  /** Shown below the overview. */
  readonly children?: ComponentChildren;
}

interface ReportProps extends Props {
  readonly answer: ReportAnswer;
  readonly refusal: Asked<ReportAnswer>['refusal'];
  /** Changes when there is something new to fetch. */
  readonly version: number;
}

/** A report on the server: the verdict, the list of cases, and the open case or the overview. */
export function ReportView({ answer, refusal, version, ...props }: ReportProps) {
  const source = useServerSource(`/v1${props.base}`, answer, version);
  return (
    <SourceProvider value={source}>
      <Stale refusal={refusal} />
      <Panes {...props} />
    </SourceProvider>
  );
}

function Panes({ base, place, bar, children }: Props) {
  const { head } = useSource();
  const address = addressIn(base, place.query, caseIn(place.path, base));
  const cases = useCases(address);
  const searchRef = useRef<HTMLInputElement>(null);
  useTitle(`${address.case || head.word} · ${head.id}`);
  // The viewer itself shows the keys.
  useKeys(reportKeys(address, cases, searchRef, { isOpen: false, show: () => undefined }));
  useEffect(() => {
    if (address.case === '') return;
    document.querySelector('.report-main')?.scrollTo({ top: 0 });
  }, [address.case]);
  return (
    <div class="app" data-view={viewIn(address)}>
      <section class="verdict" data-tone={head.tone} data-open={address.case !== ''} aria-label="Verdict">
        <div class="live-report-bar">{bar}</div>
        <VerdictSays head={head} address={address} />
      </section>
      <ViewTabs address={address} />
      <CasesPane address={address} cases={cases} searchRef={searchRef} />
      <div class="report-main scroller" tabIndex={-1}>
        <ReportContent address={address} cases={cases} />
        {address.case === '' && children && <div class="live-extra">{children}</div>}
      </div>
    </div>
  );
}

/** The case that the path names, or nothing. */
function caseIn(path: string, base: string): string {
  const rest = path.slice(base.length);
  if (!path.startsWith(base) || !rest.startsWith('/cases/')) return '';
  try {
    return decodeURIComponent(rest.slice('/cases/'.length));
  } catch {
    return rest.slice('/cases/'.length);
  }
}
