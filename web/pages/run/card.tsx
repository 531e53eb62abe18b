import type { ComponentChildren } from 'preact';
import type { ShortList } from '../../../src/reports/pages/run-data.ts';
import { Card } from '../../shared/card.tsx';
import { count } from '../../shared/format.ts';
import { runHash } from './address.ts';

interface Props {
  readonly id: string;
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A section of a page. Its title links to it. */
export function LinkedCard({ id, title, note, children }: Props) {
  const link = (
    <a
      href={`#at=${id}`}
      onClick={event => {
        event.preventDefault();
        history.pushState(null, '', runHash({ at: id }));
        dispatchEvent(new HashChangeEvent('hashchange'));
      }}
    >
      {title}
    </a>
  );
  return (
    <Card id={id} title={link} note={note}>
      {children}
    </Card>
  );
}

/** Names and values, one row each. Rows without a value are left out. */
export function Facts({ rows }: { readonly rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="run-facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Says how many members of a list the page leaves out. */
export function Rest({ list, what }: { readonly list: ShortList<unknown>; readonly what: string }) {
  const missing = list.total - list.shown.length;
  return missing > 0 ? (
    <p class="note">
      {count(missing)} more {what} {missing === 1 ? 'is' : 'are'} not on this page.
    </p>
  ) : null;
}
