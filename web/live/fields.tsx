import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefWith, type Place, visit } from './router.ts';

interface ChoiceProps {
  readonly place: Place;
  /** The key in the query. */
  readonly name: string;
  readonly label: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
}

/** A filter in the address. Changing it starts again at the first page. */
export function Choice({ place, name, label, choices }: ChoiceProps) {
  return (
    <label class="live-choice">
      <span class="unseen">{label}</span>
      <select
        value={place.query.get(name) ?? ''}
        onChange={event => visit(hrefWith(place, { [name]: event.currentTarget.value, after: '' }))}
      >
        {choices.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The words to search for. The view follows shortly after the last letter. */
export function SearchField({ place, label }: { readonly place: Place; readonly label: string }) {
  const asked = place.query.get('q') ?? '';
  const [text, setText] = useState(asked);
  const timer = useRef(0);
  useEffect(() => setText(asked), [asked]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const later = (next: string): void => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => visit(hrefWith(place, { q: next, after: '' }), 'replace'), PAUSE_MS) as never;
  };
  return (
    <label class="live-search">
      <span class="unseen">{label}</span>
      <input
        type="search"
        placeholder={label}
        value={text}
        maxLength={200}
        onInput={event => later(event.currentTarget.value)}
      />
    </label>
  );
}

const PAUSE_MS = 200;
