import type { MatrixPage } from '../../../src/reports/pages/matrix-page.ts';
import type { Tone } from '../../../src/reports/page-data.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';

export type MatrixPagePair = MatrixPage['pairs'][number];
export type MatrixPageVersion = MatrixPage['versions'][number];

const TONES: Record<MatrixPagePair['verdict'], Tone> = {
  no_regression: 'good',
  regression: 'bad',
  not_enough_evidence: 'unsure',
};

const WORDS: Record<MatrixPagePair['verdict'], string> = {
  no_regression: 'Not worse',
  regression: 'Worse',
  not_enough_evidence: 'Undecided',
};

/** What the shapes mean, for screens without room for words. */
export function PairLegend({ isMany }: { readonly isMany: boolean }) {
  return (
    <p class="matrix-legend matrix-pairs" data-many={isMany}>
      {(['regression', 'no_regression', 'not_enough_evidence'] as const).map(verdict => (
        <span key={verdict} class={`tone-${TONES[verdict]}`}>
          <Icon path={VERDICT_ICONS[TONES[verdict]]} /> {WORDS[verdict]}
        </span>
      ))}
    </p>
  );
}

export const pairWord = ({ verdict, is_only_limit }: MatrixPagePair): string =>
  is_only_limit ? 'Limit not met' : WORDS[verdict];

/** The verdict on a pair: a shape and a word; colour only repeats them. */
export function PairMark({ pair }: { readonly pair: MatrixPagePair }) {
  const tone = TONES[pair.verdict];
  return (
    <span class={`pill tone-${tone}`}>
      <Icon path={VERDICT_ICONS[tone]} />
      <span class="pill-word">{pairWord(pair)}</span>
    </span>
  );
}

export const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`;
