import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ask, Refusal } from './api.ts';

export interface Asked<Answer> {
  /** The newest answer. While the next one is on its way, the last one stays. */
  readonly value: Answer | undefined;
  /** Why the newest request failed. */
  readonly refusal: Refusal | undefined;
  readonly again: () => void;
}

/**
 * What the server answers at a path; nothing while the path is null. It asks again every `everyMs` milliseconds while
 * the page is visible. A path to another thing forgets the last answer.
 */
export function useAnswer<Answer>(path: string | null, everyMs?: number): Asked<Answer> {
  const [state, setState] = useState<Kept<Answer>>(NOTHING);
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn(last => last + 1), []);
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    ask<Answer>(path, stop.signal).then(
      value => setState({ path, value, refusal: undefined }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const refusal = error instanceof Refusal ? error : new Refusal(0, 'bug', 'The page hit an internal error.');
        setState(last => ({ path, value: thing(last.path) === thing(path) ? last.value : undefined, refusal }));
      },
    );
    return () => stop.abort();
  }, [path, turn]);
  useEvery(everyMs, again);
  const isAbout = path !== null && thing(state.path) === thing(path);
  return { value: isAbout ? state.value : undefined, refusal: isAbout ? state.refusal : undefined, again };
}

interface Kept<Answer> {
  readonly path: string;
  readonly value: Answer | undefined;
  readonly refusal: Refusal | undefined;
}

const NOTHING: Kept<never> = { path: '', value: undefined, refusal: undefined };

/** Another filter of the same list keeps showing the old rows until the new ones arrive. */
const thing = (path: string): string => path.split('?')[0] ?? '';

function useEvery(everyMs: number | undefined, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') latest.current();
    }, everyMs);
    const seen = (): void => {
      if (document.visibilityState === 'visible') latest.current();
    };
    document.addEventListener('visibilitychange', seen);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [everyMs]);
}
