import type { RowKind, Tone } from '../../src/reports/page-data.ts';

/** Each state has a word and a shape; colour only repeats them. */
export const KINDS: Record<
  RowKind,
  { readonly word: string; readonly tone: Tone | 'flaky' | 'calm'; readonly path: string }
> = {
  regressed: { word: 'Regressed', tone: 'bad', path: 'M8 3v8M4.5 8 8 11.5 11.5 8' },
  improved: { word: 'Improved', tone: 'good', path: 'M8 13V5M4.5 8 8 4.5 11.5 8' },
  flaky: { word: 'Flaky', tone: 'flaky', path: 'M3 9.5 6 6l3.5 4L13 6.5' },
  missing: { word: 'Missing', tone: 'unsure', path: 'M4 8h1M7.5 8h1M11 8h1' },
  same: { word: 'Same', tone: 'calm', path: 'M4.5 6.5h7M4.5 9.5h7' },
  pass: { word: 'Passed', tone: 'good', path: 'M4 8.5 7 11.5 12 5' },
  fail: { word: 'Failed', tone: 'bad', path: 'M5 5l6 6M11 5l-6 6' },
  error: { word: 'Error', tone: 'unsure', path: 'M8 4v5M8 11.5v.5' },
  running: { word: 'Under way', tone: 'flaky', path: 'M6 4.5 11 8l-5 3.5z' },
  unjudged: { word: 'Not judged', tone: 'unsure', path: 'M4 8h8' },
};

export function Mark({ kind }: { readonly kind: RowKind }) {
  const { tone, path } = KINDS[kind];
  return <Icon path={path} class={`mark tone-${tone}`} />;
}

export function Icon({ path, class: name = '' }: { readonly path: string; readonly class?: string }) {
  return (
    <svg class={`icon ${name}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

export function Pill({ kind }: { readonly kind: RowKind }) {
  const { word, tone } = KINDS[kind];
  return (
    <span class={`pill tone-${tone}`}>
      <Icon path={KINDS[kind].path} />
      {word}
    </span>
  );
}

/** Marks the first divergence. */
export function Flag() {
  return (
    <>
      <Icon path="M4 14V2.5h8L9.5 5.5 12 8.5H4" />
      First divergence
    </>
  );
}

const VERDICTS: Record<string, RowKind> = { p: 'pass', f: 'fail', e: 'error', n: 'error' };

/** The verdicts of one side's trials, one shape each, with a text for screen readers. */
export function Trials({ letters }: { readonly letters: string }) {
  if (letters === '') return <span class="muted">no answer</span>;
  const kinds = letters.split('').map(letter => VERDICTS[letter] ?? 'error');
  const passed = kinds.filter(kind => kind === 'pass').length;
  const [first] = kinds;
  const words = kinds.length === 1 && first ? KINDS[first].word : `${passed} of ${kinds.length} passed`;
  return (
    <span class="trials">
      {kinds.slice(0, 10).map((kind, index) => (
        <Mark kind={kind} key={index} />
      ))}
      <span>{words}</span>
    </span>
  );
}

export const VERDICT_ICONS: Record<Tone, string> = {
  good: 'M4 8.5 7 11.5 12 5',
  bad: 'M5 5l6 6M11 5l-6 6',
  unsure: 'M6 6.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.7-.8 1.4M8 12v.2',
};
