import { counted } from '../../base/counted.ts';
import type { History, SuiteHistory } from './history-data.ts';
import type { PageTop, SmallPage } from './page-kinds.ts';

/** The page of a history. */
export function historyPage(history: History): SmallPage<'history'> {
  const { suites, suite, case_id, generated_at } = history;
  const [only] = history.suites_total === 1 ? suites : [];
  const id = case_id ?? suite ?? only?.name ?? counted(history.suites_total, 'suite');
  return { kind: 'history', top: { subject: 'History of', id, at: generated_at, ...verdictOf(suites) }, data: history };
}

function verdictOf(suites: readonly SuiteHistory[]): Pick<PageTop, 'tone' | 'word' | 'sentence'> {
  const sum = (state: keyof SuiteHistory['states']): number =>
    suites.reduce((total, { states }) => total + states[state], 0);
  const [fails, flaky, passes] = [sum('fails'), sum('flaky'), sum('passes') + sum('fixed')];
  const total = fails + flaky + passes + sum('unknown');
  if (suites.length === 0) return { tone: 'unsure', word: 'No runs', sentence: 'No suite has been run here yet.' };
  const flakyToo = flaky === 0 ? '' : `, ${flaky} ${flaky === 1 ? 'is' : 'are'} flaky`;
  const [first] = suites.flatMap(({ cases }) => cases);
  if (fails > 0) {
    const since =
      fails === 1 && first?.since ? ` “${first.case_id}” has failed since ${first.since.started_at.slice(0, 10)}.` : '';
    const sentence = `${fails} of ${counted(total, 'case')} ${fails === 1 ? 'fails' : 'fail'}${flakyToo}.${since}`;
    return { tone: 'bad', word: 'Failing', sentence };
  }
  if (flaky > 0)
    return {
      tone: 'unsure',
      word: 'Flaky',
      sentence: `No case fails, but ${flaky} of ${total} ${flaky === 1 ? 'is' : 'are'} flaky.`,
    };
  if (passes === 0) return { tone: 'unsure', word: 'Not judged', sentence: 'No run has a verdict.' };
  return {
    tone: 'good',
    word: 'Passing',
    sentence: passes === 1 ? 'The case passes.' : `All ${passes} cases with a verdict pass.`,
  };
}
