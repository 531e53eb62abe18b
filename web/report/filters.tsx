import type { RefObject } from 'preact';
import type { PageHead } from '../../src/reports/page-data.ts';
import { type Address, go, hashOf } from './address.ts';
import { SORTS } from './selection.ts';
import { plain } from '../shared/visible.tsx';

interface Props {
  readonly head: PageHead;
  readonly address: Address;
  readonly searchRef: RefObject<HTMLInputElement | null>;
}

export function Filters({ head, address, searchRef }: Props) {
  const kinds = head.counts.filter(({ filter }) => filter === 'change');
  const verdicts = ['pass', 'fail', 'error'];
  return (
    <search class="filters" aria-label="Filters">
      <label class="find">
        <span class="unseen">Search cases</span>
        <input
          ref={searchRef}
          type="search"
          placeholder="Search cases"
          value={address.q}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => go(hashOf(address, { q: currentTarget.value }), 'replace')}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
      <div class="choices">
        {kinds.length > 0 && (
          <Choice name="change" label="Change" address={address} options={kinds.map(({ of, label }) => [of, label])} />
        )}
        <Choice
          name="verdict"
          label={head.kind === 'run' ? 'Verdict' : 'Candidate verdict'}
          address={address}
          options={verdicts.map(verdict => [
            verdict,
            { pass: 'Passed', fail: 'Failed', error: 'Error' }[verdict] ?? verdict,
          ])}
        />
        {head.error_classes.length > 0 && (
          <Choice
            name="error"
            label="Error"
            address={address}
            options={head.error_classes.map(name => [name, name.replaceAll('_', ' ')])}
          />
        )}
        {head.suites.length > 1 && (
          <Choice name="suite" label="Suite" address={address} options={head.suites.map(name => [name, plain(name)])} />
        )}
      </div>
    </search>
  );
}

/** The sort order of the list. */
export function Order({ head, address }: Pick<Props, 'head' | 'address'>) {
  const isRun = head.kind === 'run';
  return (
    <label class="order">
      <span class="unseen">Order</span>
      <select
        value={address.sort}
        onChange={({ currentTarget }) => go(hashOf(address, { sort: currentTarget.value }), 'replace')}
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
  readonly name: 'change' | 'verdict' | 'error' | 'suite';
  readonly label: string;
  readonly address: Address;
  readonly options: readonly (readonly [string, string])[];
}

function Choice({ name, label, address, options }: ChoiceProps) {
  const value = address[name];
  return (
    <label class="choice" data-set={value !== ''}>
      <span>{label}</span>
      <select
        value={value}
        onChange={({ currentTarget }) => go(hashOf(address, { [name]: currentTarget.value }), 'replace')}
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
