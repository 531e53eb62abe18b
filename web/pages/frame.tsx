import type { ComponentType } from 'preact';
import type { EmbeddedPage } from '../../src/reports/pages/page-kinds.ts';
import { instant } from '../shared/format.ts';
import { Icon } from '../shared/marks.tsx';
import { Says } from '../shared/says.tsx';
import { ThemeButton } from '../shared/theme.tsx';
import { Text } from '../shared/visible.tsx';
import { KINDS, type KindProps } from './kinds.tsx';

/** The verdict, and below it the page of the kind. */
export function Frame({ page }: { readonly page: EmbeddedPage }) {
  const { kind, top, data } = page;
  const Body = KINDS[kind] as ComponentType<KindProps<typeof kind>>;
  return (
    <div class="page">
      <a
        class="skip"
        href="#main"
        onClick={event => {
          event.preventDefault();
          document.querySelector('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="verdict" data-tone={top.tone}>
        <div class="bar">
          <span class="brand">
            <Icon path="M8 1.5 13.5 4v4c0 3.2-2.2 5.4-5.5 6.5C4.7 13.4 2.5 11.2 2.5 8V4zM5.6 8.2l1.7 1.7 3.2-3.6" />
            Proctor
          </span>
          <span class="what">
            {top.subject}{' '}
            <code>
              <Text value={top.id} />
            </code>
            {top.at !== null && <span class="when"> · {instant(top.at)}</span>}
          </span>
          <ThemeButton />
        </div>
        <Says top={top} />
      </header>
      <main id="main" tabIndex={-1}>
        <Body data={data} page={page} />
      </main>
    </div>
  );
}
