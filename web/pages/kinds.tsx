import type { ComponentType } from 'preact';
import type { EmbeddedPage, PageKinds } from '../../src/reports/pages/page-kinds.ts';
import { HistoryBody } from './history/history.tsx';
import { JsonView } from '../shared/values.tsx';
import { MatrixBody } from './matrix/matrix.tsx';
import { AgentRunPage } from './agent/agent-page.tsx';

export interface KindProps<Kind extends keyof PageKinds> {
  readonly data: PageKinds[Kind];
  readonly page: EmbeddedPage;
}

/** The body of each kind of page, below the verdict. */
export const KINDS: { readonly [Kind in keyof PageKinds]: ComponentType<KindProps<Kind>> } = {
  agent: AgentRunPage,
  script: Raw,
  intent: Raw,
  matrix: MatrixBody,
  history: HistoryBody,
};

function Raw({ data }: { readonly data: unknown }) {
  return <JsonView value={data} />;
}
