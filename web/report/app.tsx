import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddress } from './address.ts';
import { CoverageNote } from './coverage.tsx';
import { Header } from './header.tsx';
import { KeysDialog, useKeys } from './keys.tsx';
import { CasesPane, ReportContent, reportKeys, viewIn, ViewTabs } from './panes.tsx';
import { useOpenOnPaper } from '../shared/print.ts';
import { useSource } from '../shared/source.ts';
import { useCases } from './use-cases.ts';

export function App() {
  const { head } = useSource();
  const address = useAddress();
  const cases = useCases(address);
  const [hasKeys, setHasKeys] = useState(false);
  const searchRef = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = `${address.case || head.word} · Proctor`;
  }, [address.case]);
  useOpenOnPaper();
  useKeys(reportKeys(address, cases, searchRef, { isOpen: hasKeys, show: setHasKeys }));
  return (
    <div class="app" data-view={viewIn(address)}>
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
      <ViewTabs address={address} />
      <CasesPane address={address} cases={cases} searchRef={searchRef} />
      <main id="content" tabIndex={-1} class="report-main scroller">
        <ReportContent address={address} cases={cases} />
        <CoverageNote />
      </main>
      {hasKeys && <KeysDialog onClose={() => setHasKeys(false)} />}
    </div>
  );
}
