import type { ComponentChildren } from 'preact';

export function Section({
  title,
  note,
  children,
}: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="part">
      <h3>
        {title} {note && <span class="muted">{note}</span>}
      </h3>
      {children}
    </section>
  );
}

export function SideTitles() {
  return (
    <div class="side-titles" aria-hidden="true">
      <span>Baseline</span>
      <span>Candidate</span>
    </div>
  );
}
