import type { AgentPage } from './agent-page-data.ts';
import type { Tone } from '../page-data.ts';
import type { IntentPageData } from './intent-page.ts';
import type { MatrixPage } from './matrix-page.ts';
import type { History } from './history-data.ts';
import type { ScriptPageData } from './script-page.ts';

/** The data of each kind of page. A new kind needs a line here and one in `web/pages/kinds.tsx`. */
export interface PageKinds {
  readonly agent: AgentPage;
  readonly history: History;
  readonly script: ScriptPageData;
  readonly intent: IntentPageData;
  readonly matrix: MatrixPage;
}

/** What every kind of page has: its title and its verdict. */
/** The headline of every page whose run folder does not match its seal. */
export const DOES_NOT_VERIFY = 'Does not verify';

export interface PageTop {
  /** What the page is about, such as "Agent run". */
  readonly subject: string;
  readonly id: string;
  /** When the run ended or the report was made; null if unknown. */
  readonly at: string | null;
  readonly tone: Tone;
  /** The verdict in one or two words, such as "Completed". */
  readonly word: string;
  readonly sentence: string;
}

/** A page about one thing, which fits in memory. */
export interface SmallPage<Kind extends keyof PageKinds = keyof PageKinds> {
  readonly kind: Kind;
  readonly top: PageTop;
  /** JSON data. Its builder limits every list and text. */
  readonly data: PageKinds[Kind];
}

/** What the script of a page finds in it. */
export interface EmbeddedPage extends SmallPage {
  readonly proctor_version: string;
  readonly style_mark: string;
}
