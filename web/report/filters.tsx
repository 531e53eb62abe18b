import type { RefObject } from 'preact';
import { useState } from 'preact/hooks';
import type { PageFacets, PageHead } from '../../src/reports/page-data.ts';
import { type FILTERS, SORTS } from '../../src/reports/rows/selection.ts';
import { type Address, go, hrefOf } from './address.ts';
import { labelOf } from './chips.tsx';
import { count } from '../shared/format.ts';
import { KINDS } from '../shared/marks.tsx';
import { plain } from '../shared/visible.tsx';

interface Props {
  readonly head: PageHead;
  readonly address: Address;
  readonly searchRef: RefObject<HTMLInputElement | null>;
}

type Key = Exclude<(typeof FILTERS)[number], 'q'>;
type Options = readonly (readonly [value: string, text: string])[];

export function Filters({ head, address, searchRef }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const choices = choicesOf(head);
  const hidden = choices.slice(SHOWN_MAX).some(([key]) => address[key] !== '');
  return (
    <search class="filters" aria-label="Filters">
      <label class="find">
        <span class="unseen">Search cases</span>
        <input
          ref={searchRef}
          type="search"
          placeholder="Search inputs, outputs, tools"
          value={address.q}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => go(hrefOf(address, { q: currentTarget.value }), 'replace')}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
      <div class="choices" id="choices" data-open={isOpen} data-hidden={hidden}>
        {choices.map(([key, options]) => (
          <Choice key={key} name={key} label={labelOf(key, head)} address={address} options={options} />
        ))}
      </div>
      <button
        type="button"
        class="more-filters"
        aria-expanded={isOpen}
        aria-controls="choices"
        data-many={choices.length > SHOWN_MAX && !hidden}
        onClick={() => setIsOpen(!isOpen)}
      >
        <span class="wide">{isOpen ? 'Fewer filters' : 'More filters'}</span>
        <span class="narrow">{isOpen ? 'Hide filters' : 'Filters'}</span>
      </button>
    </search>
  );
}

/** The choices that a wide page shows at once. A phone shows none until the reader opens them. */
const SHOWN_MAX = 4;

function choicesOf(head: PageHead): (readonly [Key, Options])[] {
  const kinds = head.counts.filter(({ filter }) => filter === 'change');
  const verdicts = [
    'pass',
    'fail',
    'error',
    ...head.counts.flatMap(({ of }) => (of === 'unjudged' || of === 'running' ? [of] : [])),
  ] as const;
  const causes = new Map(head.causes.listed.map(({ text }) => [text, 0]));
  for (const { text, count } of head.causes.listed) causes.set(text, (causes.get(text) ?? 0) + count);
  const all: (readonly [Key, Options])[] = [
    ['change', kinds.map(({ of, label }) => [of, label])],
    ['cause', [...causes].map(([text, times]) => [text, counted(text, times)])],
    ['suite', head.suites.length > 1 ? head.suites.map(name => [name, plain(name)]) : []],
    ['expectation', optionsOf(head.expectations)],
    ['verdict', verdicts.map(verdict => [verdict, KINDS[verdict].word])],
    ['error', head.error_classes.map(name => [name, name.replaceAll('_', ' ')])],
    ['tag', optionsOf(head.tags)],
    ['severity', optionsOf(head.severities)],
  ];
  return all.filter(([, options]) => options.length > 0);
}

const optionsOf = ({ listed }: PageFacets): Options => listed.map(({ text, count }) => [text, counted(text, count)]);

/** The number comes first, because a long text is cut at its end. */
const counted = (text: string, times: number): string => `${count(times)} × ${plain(text)}`;

/** The sort order of the list. */
export function Order({ head, address }: Pick<Props, 'head' | 'address'>) {
  const isRun = head.kind === 'run';
  return (
    <label class="order">
      <span class="unseen">Order</span>
      <select
        value={address.sort}
        onChange={({ currentTarget }) => go(hrefOf(address, { sort: currentTarget.value }), 'replace')}
      >
        {SORTS.filter(({ compares }) => !isRun || !compares).map(({ value, label }) => (
          <option key={value} value={value}>
            {value === '' && isRun ? 'Failures first' : label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ChoiceProps {
  readonly name: Key;
  readonly label: string;
  readonly address: Address;
  readonly options: Options;
}

function Choice({ name, label, address, options }: ChoiceProps) {
  const value = address[name];
  return (
    <label class="choice" data-set={value !== ''}>
      <span>{label}</span>
      <select
        value={value}
        onChange={({ currentTarget }) => go(hrefOf(address, { [name]: currentTarget.value }), 'replace')}
      >
        <option value="">Any</option>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
