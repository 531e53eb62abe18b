import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Address, go, hashOf, useAddress } from './address.ts';
import { CaseDetail } from './case-detail.tsx';
import { CaseList, ROW_PX } from './case-list.tsx';
import { CoverageNote } from './coverage.tsx';
import { Filters, Order } from './filters.tsx';
import { count, plural } from './format.ts';
import { Header } from './header.tsx';
import { KeysDialog, useKeys } from './keys.tsx';
import { Overview } from './overview.tsx';
import { head, rowIndex, rows } from './page.ts';
import { selected } from './selection.ts';

export function App() {
  const address = useAddress();
  const { change, verdict, error, suite, q, sort } = address;
  const chosen = useMemo(
    () => selected(rows, head, { change, verdict, error, suite, q, sort }),
    [change, verdict, error, suite, q, sort],
  );
  const index = useMemo(() => (address.case ? rowIndex(address.case) : -1), [address.case]);
  const position = useMemo(() => chosen.indexOf(index), [chosen, index]);
  const [active, setActive] = useState(0);
  const [hasKeys, setHasKeys] = useState(false);
  const listRef = useRef<HTMLUListElement>(null);
  const searchRef = useRef<HTMLInputElement>(null);

  /** Scrolls to a row and focuses it. */
  const reach = (to: number, focus: boolean): void => {
    const next = Math.max(0, Math.min(chosen.length - 1, to));
    setActive(next);
    const list = listRef.current;
    const pane = list?.closest('.scroller');
    if (!list || !pane) return;
    const scroller = pane.scrollHeight > pane.clientHeight + 1 ? pane : document.documentElement;
    const top = list.getBoundingClientRect().top - pane.getBoundingClientRect().top + next * ROW_PX;
    const from = scroller === pane ? pane.scrollTop : scroller.scrollTop;
    const seen = scroller === pane ? top : top + pane.getBoundingClientRect().top;
    if (seen < 0) scroller.scrollTo({ top: from + seen - ROW_PX });
    else if (seen + ROW_PX > scroller.clientHeight)
      scroller.scrollTo({ top: from + seen + 2 * ROW_PX - scroller.clientHeight });
    if (focus)
      requestAnimationFrame(() =>
        requestAnimationFrame(() =>
          list.querySelector<HTMLElement>('[data-active=true]')?.focus({ preventScroll: true }),
        ),
      );
  };

  const open = (to: number): void => {
    const row = rows[chosen[Math.max(0, Math.min(chosen.length - 1, to))] ?? -1];
    if (row) go(hashOf(address, { case: row[0], at: '', view: '' }));
  };

  useEffect(() => {
    if (position >= 0) reach(position, false);
  }, [position]);
  useEffect(() => {
    if (position < 0) setActive(0);
  }, [chosen]);
  useEffect(() => {
    document.title = `${address.case || head.word} · Proctor`;
  }, [address.case]);

  useKeys({
    move: by =>
      address.case
        ? open(position < 0 ? 0 : position + by)
        : reach(document.activeElement?.matches('.case') ? active + by : active, true),
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
  });

  const isFiltered = Boolean(change || verdict || error || suite || q);
  return (
    <div class="app" data-view={address.case ? 'case' : address.view === 'overview' ? 'overview' : 'cases'}>
      <a
        class="skip"
        href={hashOf(address)}
        onClick={event => {
          event.preventDefault();
          document.querySelector('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <Header head={head} address={address} onKeys={() => setHasKeys(true)} />
      <Tabs address={address} />
      <nav class="side scroller" aria-label="Cases">
        {rows.length > 0 && <Filters head={head} address={address} searchRef={searchRef} />}
        {rows.length > 0 && (
          <div class="found">
            <span role="status">
              {isFiltered ? `${count(chosen.length)} of ${plural(rows.length, 'case')}` : plural(rows.length, 'case')}
            </span>
            {isFiltered && (
              <a href={hashOf(address, { change: '', verdict: '', error: '', suite: '', q: '' })}>Clear filters</a>
            )}
            <Order head={head} address={address} />
          </div>
        )}
        {chosen.length > 0 ? (
          <CaseList rows={rows} chosen={chosen} head={head} address={address} active={active} listRef={listRef} />
        ) : (
          <NoCases isFiltered={isFiltered} />
        )}
      </nav>
      <main tabIndex={-1} class="scroller">
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
