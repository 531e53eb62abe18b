import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Address, FILTERS, go, hashOf, useAddress } from './address.ts';
import { CaseDetail } from './case-detail.tsx';
import { CaseList } from './case-list.tsx';
import { Chips } from './chips.tsx';
import { CoverageNote } from './coverage.tsx';
import { toDifference } from './differences.ts';
import { Filters, Order } from './filters.tsx';
import { count, plural } from '../shared/format.ts';
import { Header } from './header.tsx';
import { KeysDialog, useKeys } from './keys.tsx';
import { Overview } from './overview.tsx';
import { useOpenOnPaper } from '../shared/print.ts';
import { useSource } from '../shared/source.ts';
import { Searched } from './searched.tsx';
import { type Cases, useCases } from './use-cases.ts';

export function App() {
  const { head, rows } = useSource();
  const address = useAddress();
  const cases = useCases(address);
  const { index, chosen, position, open } = cases;
  const [hasKeys, setHasKeys] = useState(false);
  const searchRef = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = `${address.case || head.word} · Proctor`;
  }, [address.case]);
  useOpenOnPaper();
  useKeys(actionsOf(address, cases, searchRef, hasKeys, setHasKeys));
  return (
    <div class="app" data-view={address.case ? 'case' : address.view === 'overview' ? 'overview' : 'cases'}>
      <a
        class="skip"
        href="#content"
        onClick={event => {
          event.preventDefault();
          // On a phone, the list is the content until the reader opens the overview.
          const isShown = document.querySelector('main > :first-child')?.checkVisibility();
          document.querySelector<HTMLElement>(isShown ? 'main' : '.side')?.focus();
        }}
      >
        Skip to content
      </a>
      <Header head={head} address={address} onKeys={() => setHasKeys(true)} />
      <Tabs address={address} />
      <Side address={address} cases={cases} searchRef={searchRef} />
      <main id="content" tabIndex={-1} class="scroller">
        {address.case ? (
          <CaseDetail
            key={address.case}
            head={head}
            row={rows[index]}
            index={index}
            address={address}
            position={position}
            of={chosen.length}
            onMove={by => open(position + by)}
          />
        ) : (
          <Overview head={head} rows={rows} address={address} />
        )}
        <CoverageNote />
      </main>
      {hasKeys && <KeysDialog onClose={() => setHasKeys(false)} />}
    </div>
  );
}

/** What each key does. */
function actionsOf(
  address: Address,
  { position, active, open, reach }: Cases,
  searchRef: RefObject<HTMLInputElement | null>,
  hasKeys: boolean,
  setHasKeys: (hasKeys: boolean) => void,
): Parameters<typeof useKeys>[0] {
  return {
    move: by =>
      address.case
        ? open(position < 0 ? 0 : position + by)
        : reach(document.activeElement?.matches('.case') ? active + by : active, true),
    difference: toDifference,
    close: () => {
      if (hasKeys) setHasKeys(false);
      else if (address.case) {
        go(hashOf(address, { case: '', at: '' }));
        reach(Math.max(0, position), true);
      } else searchRef.current?.blur();
    },
    search: () => {
      if (address.case) go(hashOf(address, { case: '', at: '', view: '' }));
      // On a phone, the search field is hidden while a case is open.
      if (searchRef.current?.checkVisibility()) searchRef.current.select();
      else requestAnimationFrame(() => searchRef.current?.select());
    },
    keys: () => setHasKeys(true),
  };
}

interface SideProps {
  readonly address: Address;
  readonly cases: Cases;
  readonly searchRef: RefObject<HTMLInputElement | null>;
}

/** The filters and the list of cases. */
function Side({ address, cases: { chosen, active, listRef }, searchRef }: SideProps) {
  const { head, rows } = useSource();
  const isFiltered = FILTERS.some(key => address[key] !== '');
  return (
    <nav class="side scroller" aria-label="Cases" tabIndex={-1}>
      {rows.length > 0 && <Filters head={head} address={address} searchRef={searchRef} />}
      {rows.length > 0 && (
        <div class="found">
          <span role="status">
            {isFiltered ? `${count(chosen.length)} of ${plural(rows.length, 'case')}` : plural(rows.length, 'case')}
          </span>
          <Order head={head} address={address} />
          <Chips head={head} address={address} />
          {address.q !== '' && <Searched cases={rows.length} />}
        </div>
      )}
      {chosen.length > 0 ? (
        <CaseList rows={rows} chosen={chosen} head={head} address={address} active={active} listRef={listRef} />
      ) : (
        <NoCases isFiltered={isFiltered} />
      )}
    </nav>
  );
}

function Tabs({ address }: { readonly address: Address }) {
  const isOverview = address.view === 'overview';
  return (
    <nav class="tabs" aria-label="Views">
      <a href={hashOf(address, { view: '' })} aria-current={isOverview ? undefined : 'page'}>
        Cases
      </a>
      <a href={hashOf(address, { view: 'overview' })} aria-current={isOverview ? 'page' : undefined}>
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
