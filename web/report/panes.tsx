import type { RefObject } from 'preact';
import { FILTERS } from '../../src/reports/rows/selection.ts';
import { type Address, go, hrefOf } from './address.ts';
import { CaseDetail } from './case-detail.tsx';
import { CaseList } from './case-list.tsx';
import { Chips } from './chips.tsx';
import { toDifference } from './differences.ts';
import { Filters, Order } from './filters.tsx';
import { count, plural } from '../shared/format.ts';
import type { useKeys } from './keys.tsx';
import { Overview } from './overview.tsx';
import { Searched } from './searched.tsx';
import { useSource } from '../shared/source.ts';
import type { Cases } from './use-cases.ts';

interface Props {
  readonly address: Address;
  readonly cases: Cases;
}

/** What a narrow window shows. */
export const viewIn = (address: Address): string =>
  address.case ? 'case' : address.view === 'overview' ? 'overview' : 'cases';

/** The open case, or the overview. */
export function ReportContent({ address, cases: { listed, open } }: Props) {
  const { head } = useSource();
  const { position, length } = listed;
  return address.case ? (
    <CaseDetail
      key={address.case}
      head={head}
      address={address}
      position={position}
      of={length}
      onMove={by => open(position + by)}
    />
  ) : (
    <Overview head={head} address={address} />
  );
}

/** What each key does. */
export function reportKeys(
  address: Address,
  { listed: { position }, active, open, reach }: Cases,
  searchRef: RefObject<HTMLInputElement | null>,
  dialog: { readonly isOpen: boolean; readonly show: (isOpen: boolean) => void },
): Parameters<typeof useKeys>[0] {
  return {
    move: by =>
      address.case
        ? open(position < 0 ? 0 : position + by)
        : reach(document.activeElement?.matches('.case') ? active + by : active, true),
    difference: toDifference,
    close: () => {
      if (dialog.isOpen) dialog.show(false);
      else if (address.case) {
        go(hrefOf(address, { case: '', at: '' }));
        reach(Math.max(0, position), true);
      } else searchRef.current?.blur();
    },
    search: () => {
      if (address.case) go(hrefOf(address, { case: '', at: '', view: '' }));
      // On a phone, the search field is hidden while a case is open.
      if (searchRef.current?.checkVisibility()) searchRef.current.select();
      else requestAnimationFrame(() => searchRef.current?.select());
    },
    keys: () => dialog.show(true),
  };
}

/** The filters and the list of cases. */
export function CasesPane({
  address,
  cases: { listed, active, listRef },
  searchRef,
}: Props & { readonly searchRef: RefObject<HTMLInputElement | null> }) {
  const { head } = useSource();
  const isFiltered = FILTERS.some(key => address[key] !== '');
  return (
    <nav class="side scroller" aria-label="Cases" tabIndex={-1}>
      {listed.cases > 0 && <Filters head={head} address={address} searchRef={searchRef} />}
      {listed.cases > 0 && (
        <div class="found">
          <span role="status">
            {isFiltered ? `${count(listed.length)} of ${plural(listed.cases, 'case')}` : plural(listed.cases, 'case')}
          </span>
          <Order head={head} address={address} />
          <Chips head={head} address={address} />
          {address.q !== '' && <Searched listed={listed} />}
          {listed.trouble !== '' && <p class="searched">{listed.trouble}</p>}
        </div>
      )}
      {listed.length > 0 ? (
        <CaseList listed={listed} head={head} address={address} active={active} listRef={listRef} />
      ) : (
        <NoCases isFiltered={isFiltered} />
      )}
    </nav>
  );
}

/** On a phone, the list and the overview take turns. */
export function ViewTabs({ address }: { readonly address: Address }) {
  const isOverview = address.view === 'overview';
  return (
    <nav class="tabs" aria-label="Views of the report">
      <a href={hrefOf(address, { view: '' })} aria-current={isOverview ? undefined : 'page'}>
        Cases
      </a>
      <a href={hrefOf(address, { view: 'overview' })} aria-current={isOverview ? 'page' : undefined}>
        Overview
      </a>
    </nav>
  );
}

function NoCases({ isFiltered }: { readonly isFiltered: boolean }) {
  return (
    <div class="empty">
      <p class="empty-title">{isFiltered ? 'No case matches' : 'No cases'}</p>
      <p>{isFiltered ? 'Try fewer filters, or another word.' : 'Nothing was run, so there is nothing to list.'}</p>
    </div>
  );
}
