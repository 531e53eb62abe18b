import type { PageIndex } from '../../src/reports/page-data.ts';
import { count, plural } from '../shared/format.ts';

/** What a search covers, and what it misses. */
export function coveredText(
  { inputs, answers, left_out, chars_max }: Pick<PageIndex, 'inputs' | 'answers' | 'left_out' | 'chars_max'>,
  cases: number,
): string {
  const of = (covered: number): string => (covered >= cases ? 'all cases' : plural(covered, 'case'));
  const whole = inputs >= cases ? 'ids, titles, reasons and inputs' : 'ids, titles and reasons';
  const beyond = [...(inputs >= cases ? [] : [`inputs of ${of(inputs)}`]), `outputs and tools of ${of(answers)}`];
  return [
    `Searches ${whole} of all cases, and ${beyond.join(' and ')}, up to ${count(chars_max)} characters of each.`,
    ...(answers < cases ? [`Outputs and tools of ${plural(cases - answers, 'other case')} are not searched.`] : []),
    ...(left_out > 0 ? [`Does not find ${plural(left_out, 'frequent word')} that did not fit into this page.`] : []),
  ].join(' ');
}
