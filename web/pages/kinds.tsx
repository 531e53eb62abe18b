import type { ComponentType } from 'preact';
import type { EmbeddedPage, PageKinds } from '../../src/reports/pages/page-kinds.ts';
import { JsonView } from '../shared/values.tsx';

export interface KindProps<Kind extends keyof PageKinds> {
  readonly data: PageKinds[Kind];
  readonly page: EmbeddedPage;
}

/** The body of each kind of page, below the verdict. */
export const KINDS: { readonly [Kind in keyof PageKinds]: ComponentType<KindProps<Kind>> } = {
  agent: Raw,
  script: Raw,
  intent: Raw,
  history: Raw,
  matrix: Raw,
};

function Raw({ data }: { readonly data: unknown }) {
  return <JsonView value={data} />;
}
