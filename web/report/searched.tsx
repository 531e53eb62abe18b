import { useEffect, useState } from 'preact/hooks';
import type { PageIndex } from '../../src/reports/page-data.ts';
import { useSource } from '../shared/source.ts';
import { coveredText } from './search.ts';

/** What a search covers. */
export function Searched({ cases }: { readonly cases: number }) {
  const { whenRead, wordIndex } = useSource();
  const [index, setIndex] = useState<PageIndex>();
  useEffect(() => whenRead(() => setIndex(wordIndex())), []);
  return <p class="searched">{index ? coveredText(index, cases) : 'Searches only ids, titles and reasons.'}</p>;
}
