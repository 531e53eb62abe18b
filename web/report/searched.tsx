import { useEffect, useState } from 'preact/hooks';
import type { PageIndex } from '../../src/reports/page-data.ts';
import { whenRead, wordIndex } from './page.ts';
import { coveredText } from './search.ts';

/** What a search covers. */
export function Searched({ cases }: { readonly cases: number }) {
  const [index, setIndex] = useState<PageIndex>();
  useEffect(() => whenRead(() => setIndex(wordIndex())), []);
  return <p class="searched">{index ? coveredText(index, cases) : 'Searches only ids, titles and reasons.'}</p>;
}
