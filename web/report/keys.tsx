import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

interface Keys {
  readonly move: (by: number) => void;
  readonly difference: (by: number) => void;
  readonly close: () => void;
  readonly search: () => void;
  readonly keys: () => void;
}

/** The page's only key listener. It ignores keys in fields and keys with a modifier. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  // Subscribes before the first paint; a later effect would miss keys in between.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as HTMLElement;
      const { move, difference, close, search, keys } = latest.current;
      if (event.key === 'Escape') close();
      else if (target.matches('input, select, textarea')) {
        if (target.matches('[type=search]') && (event.key === 'ArrowDown' || event.key === 'Enter')) move(0);
        else return;
      } else if (event.key === 'j' || (event.key === 'ArrowDown' && target.matches('.case'))) move(1);
      else if (event.key === 'k' || (event.key === 'ArrowUp' && target.matches('.case'))) move(-1);
      else if (event.key === 'n') difference(1);
      else if (event.key === 'p') difference(-1);
      else if (event.key === '/') search();
      else if (event.key === '?') keys();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

const LIST = [
  ['j', 'k', 'next and previous case'],
  ['↓', '↑', 'the same, inside the list'],
  ['Enter', '', 'open the case'],
  ['n', 'p', 'next and previous difference, or failed step of a run'],
  ['Esc', '', 'close the case or dialog'],
  ['/', '', 'search'],
  ['?', '', 'this list'],
] as const;

export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="keys" onClose={onClose} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>
        {LIST.map(([first, second, does]) => (
          <div key={does}>
            <dt>
              <kbd>{first}</kbd> {second && <kbd>{second}</kbd>}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
