import { useEffect, useState } from 'preact/hooks';
import type { PageIndex } from '../../src/reports/page-data.ts';
import { count, plural } from '../shared/format.ts';
import { whenRead, wordIndex } from './page.ts';

/** What a search covers. */
export function Searched({ cases }: { readonly cases: number }) {
  const [index, setIndex] = useState<PageIndex>();
  useEffect(() => whenRead(() => setIndex(wordIndex())), []);
  return <p class="searched">{index ? coveredText(index, cases) : 'Searches only ids, titles and reasons.'}</p>;
}

export function coveredText({ inputs, answers, left_out, chars_max }: PageIndex, cases: number): string {
  const of = (covered: number): string => (covered >= cases ? 'all cases' : plural(covered, 'case'));
  const whole = inputs >= cases ? 'ids, titles, reasons and inputs' : 'ids, titles and reasons';
  const beyond = [...(inputs >= cases ? [] : [`inputs of ${of(inputs)}`]), `outputs and tools of ${of(answers)}`];
  return [
    `Searches ${whole} of all cases, and ${beyond.join(' and ')}, up to ${count(chars_max)} characters of each.`,
    ...(left_out > 0 ? [`Does not find ${plural(left_out, 'frequent word')} that did not fit into this page.`] : []),
  ].join(' ');
}
