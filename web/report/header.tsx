import type { PageHead } from '../../src/reports/page-data.ts';
import { type Address, hrefOf } from './address.ts';
import { TopCause } from './causes.tsx';
import { count, instant } from '../shared/format.ts';
import { Icon, KINDS, Mark, VERDICT_ICONS } from '../shared/marks.tsx';
import { ThemeButton } from '../shared/theme.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly head: PageHead;
  readonly address: Address;
  readonly onKeys: () => void;
}

/** The verdict. While a case is open, only its sentence stays. */
export function Header({ head, address, onKeys }: Props) {
  const isOpen = address.case !== '';
  return (
    <header class="verdict" data-tone={head.tone} data-open={isOpen}>
      <div class="bar">
        <a class="brand" href={hrefOf(address, { case: '', at: '', view: '' })}>
          <Icon path="M8 1.5 13.5 4v4c0 3.2-2.2 5.4-5.5 6.5C4.7 13.4 2.5 11.2 2.5 8V4zM5.6 8.2l1.7 1.7 3.2-3.6" />
          Proctor
        </a>
        <span class="what">
          {head.kind === 'comparison' ? 'Comparison' : 'Run'} <code>{head.id}</code>
          <span class="when"> · {instant(head.generated_at)}</span>
        </span>
        <button type="button" class="quiet" onClick={onKeys} aria-haspopup="dialog">
          <kbd>?</kbd> <span class="wide-only">Keys</span>
        </button>
        <ThemeButton />
      </div>
      <VerdictSays head={head} address={address} />
    </header>
  );
}

/** The verdict in words, and the counts. */
export function VerdictSays({ head, address }: Pick<Props, 'head' | 'address'>) {
  const isOpen = address.case !== '';
  return (
    <div class="says">
      <div class="sentence">
        <p class="word">
          <Icon path={VERDICT_ICONS[head.tone]} />
          {head.word}
        </p>
        <h1>
          <Text value={head.sentence} />
        </h1>
        {!isOpen && head.details !== null && (
          <p class="verdict-details">
            <Text value={head.details} />
          </p>
        )}
        {!isOpen && <TopCause head={head} address={address} />}
      </div>
      <Counts head={head} address={address} />
    </div>
  );
}

/** Counts next to the verdict. Each one toggles a filter for its cases. */
function Counts({ head, address }: Pick<Props, 'head' | 'address'>) {
  return (
    <ul class="counts" aria-label="Case counts">
      {head.counts.map(({ label, value, filter, of }) => {
        const isChosen = address[filter] === of;
        return (
          <li key={of}>
            <a
              class={`count tone-${KINDS[of].tone}`}
              data-zero={value === 0}
              aria-current={isChosen ? 'true' : undefined}
              href={hrefOf(address, { [filter]: isChosen ? '' : of, case: '', at: '', view: '' })}
            >
              <span class="number">{count(value)}</span>
              <span class="label">
                <Mark kind={of} />
                {label}
              </span>
            </a>
          </li>
        );
      })}
    </ul>
  );
}
