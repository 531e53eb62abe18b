import type { ComponentChildren } from 'preact';

interface Props {
  readonly id: string;
  readonly title: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A section of a page, with a title that links can lead to. */
export function Card({ id, title, note, children }: Props) {
  return (
    <section class="card" id={id} tabIndex={-1} aria-labelledby={`${id}-title`}>
      <h2>
        <span id={`${id}-title`}>{title}</span>
        {note !== undefined && note !== '' && note !== false && <span class="muted">{note}</span>}
      </h2>
      {children}
    </section>
  );
}
