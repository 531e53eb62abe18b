import type { ComponentType } from 'preact';
import type { EmbeddedPage, PageKinds } from '../../src/reports/pages/page-kinds.ts';
import { HistoryBody } from './history/history.tsx';
import { AgentRunPage } from './agent/agent-page.tsx';
import { IntentPage } from './intent/intent-page.tsx';
import type { Answering } from './intent/questions.tsx';
import { MatrixBody } from './matrix/matrix.tsx';
import { ScriptPage } from './script/script-page.tsx';

export interface KindProps<Kind extends keyof PageKinds> {
  readonly data: PageKinds[Kind];
  readonly page: EmbeddedPage;
  readonly answering?: Answering;
}

/** The body of each kind of page, below the verdict. */
export const KINDS: { readonly [Kind in keyof PageKinds]: ComponentType<KindProps<Kind>> } = {
  agent: AgentRunPage,
  script: ScriptPage,
  intent: IntentPage,
  history: HistoryBody,
  matrix: MatrixBody,
};
