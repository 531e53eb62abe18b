import type { ComponentChildren } from 'preact';
import type { PageTop } from '../../src/reports/pages/page-kinds.ts';
import { Icon, VERDICT_ICONS } from './marks.tsx';
import { Text } from './visible.tsx';

interface Props {
  readonly top: Pick<PageTop, 'tone' | 'word' | 'sentence'>;
  /** What stands beside the verdict, such as counts. */
  readonly children?: ComponentChildren;
}

/** The verdict of a page: one or two words, and a sentence. */
export function Says({ top: { tone, word, sentence }, children }: Props) {
  return (
    <div class="says">
      <div class="sentence">
        <p class="word">
          <Icon path={VERDICT_ICONS[tone]} />
          {word}
        </p>
        <h1>
          <Text value={sentence} />
        </h1>
      </div>
      {children}
    </div>
  );
}
