import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visit } from './router.ts';

/** A view that a key opens. */
export interface KeyedView {
  readonly label: string;
  readonly href: string;
  /** Opens it after `g`. */
  readonly key: string;
}

/** The keys of every view. It ignores keys in fields and keys with a modifier. Returns what `?` shows. */
export function useLiveKeys(views: readonly KeyedView[]): { readonly isOpen: boolean; readonly close: () => void } {
  const [isOpen, setIsOpen] = useState(false);
  const latest = useRef(views);
  latest.current = views;
  useLayoutEffect(() => {
    let isGoing = false;
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as HTMLElement;
      if (target.matches('input, select, textarea')) {
        if (event.key === 'Escape') target.blur();
        return;
      }
      const view = isGoing ? latest.current.find(({ key }) => key === event.key) : undefined;
      isGoing = !isGoing && event.key === 'g';
      if (view) visit(view.href);
      else if (isGoing) return;
      else if (event.key === '?') setIsOpen(true);
      else if (event.key === '/') document.querySelector<HTMLInputElement>('main input[type=search]')?.select();
      else if (event.key === 'j') moved(1);
      else if (event.key === 'k') moved(-1);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return { isOpen, close: () => setIsOpen(false) };
}

/** Moves the focus among the rows of the list. */
function moved(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

const LIST = [
  [['j', 'k'], 'next and previous row'],
  [['Enter'], 'open the row'],
  [['/'], 'search'],
  [['?'], 'this list'],
  [['n', 'p'], 'next and previous difference in a case'],
  [['Esc'], 'leave a field, close a case or a dialog'],
] as const;

interface DialogProps {
  readonly views: readonly KeyedView[];
  readonly onClose: () => void;
}

export function LiveKeysDialog({ views, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const rows = [...LIST, ...views.map(({ key, label }) => [['g', key], `show ${label}`] as const)];
  return (
    <dialog ref={dialog} class="live-keys" onClose={onClose} aria-labelledby="live-keys-title">
      <h2 id="live-keys-title">Keys</h2>
      <dl>
        {rows.map(([keys, does]) => (
          <div key={does}>
            <dt>
              {keys.map(key => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="live-button">
          Close
        </button>
      </form>
    </dialog>
  );
}
