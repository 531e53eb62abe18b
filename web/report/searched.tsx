import type { ListedCases } from '../shared/source.ts';
import { coveredText } from './searched-text.ts';

/** What a search covers. */
export function Searched({ listed: { searched, cases } }: { readonly listed: ListedCases }) {
  return <p class="searched">{searched ? coveredText(searched, cases) : 'Searches only ids, titles and reasons.'}</p>;
}
