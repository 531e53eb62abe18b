import { useState } from 'preact/hooks';
import type { PageCause, PageHead } from '../../src/reports/page-data.ts';
import { type Address, hrefOf } from './address.ts';
import { count, plural } from '../shared/format.ts';
import { Icon, KINDS } from '../shared/marks.tsx';
import { useSource } from '../shared/source.ts';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly head: PageHead;
  readonly address: Address;
}

/** Why cases need attention, over all cases. Each cause filters the list. */
export function Causes({ head, address }: Props) {
  const [isWhole, setIsWhole] = useState(false);
  const { listed, more, more_cases } = head.causes;
  if (listed.length === 0) return null;
  const most = Math.max(...listed.map(({ count }) => count));
  const shown = isWhole ? listed : listed.slice(0, SHOWN_MAX);
  return (
    <section class="card causes">
      <h3>{head.kind === 'run' ? 'Why cases fail' : 'Why cases need attention'}</h3>
      <ol class="cause-list">
        {shown.map(cause => (
          <li key={`${cause.concern} ${cause.text}`}>
            <CauseLink cause={cause} address={address} most={most} />
          </li>
        ))}
      </ol>
      {listed.length > SHOWN_MAX && (
        <button type="button" class="more-causes" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? 'Show fewer causes' : `Show ${plural(listed.length - SHOWN_MAX, 'more cause')}`}
        </button>
      )}
      {more > 0 && (
        <p class="note">
          {plural(more, 'more cause')} of {plural(more_cases, 'case')} {more === 1 ? 'is' : 'are'} not listed; the list
          of cases has them.
        </p>
      )}
      {head.kind === 'comparison' && (
        <p class="note">A cause is an inference. Open a case to see the evidence and how sure Proctor is.</p>
      )}
    </section>
  );
}

const SHOWN_MAX = 8;
const IDS_MAX = 3;

function CauseLink({
  cause,
  address,
  most,
}: { readonly cause: PageCause; readonly most: number } & Pick<Props, 'address'>) {
  const { kind, word } = CONCERNS[cause.concern];
  const isChosen = isChosenIn(address, cause);
  const ids = useSource().idsOf(cause, IDS_MAX);
  return (
    <a
      class={`why tone-${KINDS[kind].tone}`}
      href={hrefOf(address, { ...(isChosen ? OFF : filterOf(cause)), case: '', at: '', view: '' })}
      aria-current={isChosen ? 'true' : undefined}
    >
      <span class="times">{count(cause.count)} ×</span>
      <span class="says-why">
        <Text value={cause.text} />
      </span>
      <span class="concern">
        <Icon path={KINDS[kind].path} class="mark" />
        {word}
      </span>
      <span class="ids">
        {ids.map(id => (
          <code key={id}>{id}</code>
        ))}
        {cause.count > ids.length && <span>and {count(cause.count - ids.length)} more</span>}
      </span>
      <span class="bar-of" style={{ width: `${(100 * cause.count) / most}%` }} aria-hidden="true" />
    </a>
  );
}

/** The most frequent cause, in one line. */
export function TopCause({ head, address }: Pick<Props, 'head' | 'address'>) {
  const [first, ...others] = head.causes.listed;
  if (!first) return null;
  const label = head.kind === 'run' ? 'failure' : 'cause';
  return (
    <p class="top-cause">
      <span class="muted">
        {others.length > 0 ? `Most frequent ${label}` : label === 'cause' ? 'Cause' : 'Failure'}
      </span>{' '}
      <a href={hrefOf(address, { ...filterOf(first), case: '', at: '', view: '' })}>
        {count(first.count)} × <Text value={first.text} />
      </a>
    </p>
  );
}

const CONCERNS: Record<PageCause['concern'], { readonly kind: keyof typeof KINDS; readonly word: string }> = {
  regressed: { kind: 'regressed', word: 'Regressed' },
  failing: { kind: 'fail', word: 'Failed before too' },
  flaky: { kind: 'flaky', word: 'Flaky' },
  missing: { kind: 'missing', word: 'Missing' },
  failed: { kind: 'fail', word: 'Failed' },
  error: { kind: 'error', word: 'Error' },
};

const OFF = { cause: '', change: '', verdict: '' };

/** The filters that show exactly the cases of a cause. */
function filterOf({ concern, text }: PageCause): Pick<Address, 'cause' | 'change' | 'verdict'> {
  if (concern === 'failed' || concern === 'error')
    return { cause: text, change: '', verdict: concern === 'failed' ? 'fail' : 'error' };
  return { cause: text, change: concern === 'failing' ? 'same' : concern, verdict: '' };
}

function isChosenIn(address: Address, cause: PageCause): boolean {
  const { change, verdict } = filterOf(cause);
  return address.cause === cause.text && address.change === change && address.verdict === verdict;
}
