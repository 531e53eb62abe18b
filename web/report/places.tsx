import { useEffect } from 'preact/hooks';
import { type Address, hrefOf } from './address.ts';
import { enclosingPaths } from './enclosing-paths.ts';
import { sideName } from '../shared/format.ts';
import { plain } from '../shared/visible.tsx';

/** A link to a location in the open case, such as new:events[2]. Clicking it again scrolls there again. */
export function PlaceLink({
  place,
  address,
  isPlain = false,
}: {
  readonly place: string;
  readonly address: Address;
  readonly isPlain?: boolean;
}) {
  if (place.startsWith('comparability'))
    return (
      <a class="place-link" href={hrefOf(address, { case: '', view: 'overview', at: place })}>
        {place}
      </a>
    );
  const [side, at] = place.includes(':') ? place.split(':', 2) : ['new', place];
  return (
    <a class="place-link" href={hrefOf(address, { at: place })} onClick={() => address.at === place && jump(place)}>
      {isPlain ? '' : `${sideName(side ?? 'new')} `}
      {plain(at ?? '')}
    </a>
  );
}

/** Scrolls to the location as soon as it is rendered. */
export function useJump(at: string, isThere: boolean): void {
  useEffect(() => {
    if (at && isThere) jump(at);
  }, [at, isThere]);
}

function jump(at: string): void {
  const target = elementAt(at);
  if (!target) return;
  for (let box = target.closest('details'); box; box = box.parentElement?.closest('details') ?? null) box.open = true;
  for (const old of document.querySelectorAll('.pointed')) old.classList.remove('pointed');
  target.classList.add('pointed');
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: 'center' });
}

/** The element for the location, or the nearest enclosing one: final_output.content resolves to final_output. */
function elementAt(at: string): HTMLElement | undefined {
  const [side, place] = at.includes(':') ? at.split(':', 2) : ['new', at];
  const elements = new Map<string, HTMLElement>();
  for (const element of document.querySelectorAll<HTMLElement>('[data-at]')) {
    for (const name of element.dataset['at']?.split(' ') ?? []) if (!elements.has(name)) elements.set(name, element);
  }
  for (const path of enclosingPaths(place ?? '')) {
    const found = elements.get(`${side}:${path}`);
    if (found) return found;
  }
  return undefined;
}
