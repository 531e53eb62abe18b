import { useEffect } from 'preact/hooks';
import { plain } from '../shared/visible.tsx';

/** The title of the window says what the view shows. */
export function useTitle(text: string): void {
  useEffect(() => {
    document.title = text === '' ? 'Proctor' : `${plain(text).slice(0, CHARS_MAX)} · Proctor`;
  }, [text]);
}

const CHARS_MAX = 120;
