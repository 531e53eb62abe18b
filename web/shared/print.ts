import { useLayoutEffect, useState } from 'preact/hooks';

/** Whether the page is being printed. Folded content is shown on paper, where a reader cannot open it. */
export function useIsPrinted(): boolean {
  const [isPrinted, setIsPrinted] = useState(() => matchMedia('print').matches);
  useLayoutEffect(() => onPrint(setIsPrinted), []);
  return isPrinted;
}

/** Opens every `details` element in `main` while the page is printed. */
export function useOpenOnPaper(): void {
  useLayoutEffect(() => {
    let opened: HTMLDetailsElement[] = [];
    return onPrint(isPrinted => {
      if (isPrinted) {
        opened = [...document.querySelectorAll<HTMLDetailsElement>('main details:not([open])')];
        for (const one of opened) one.open = true;
      } else for (const one of opened.splice(0)) one.open = false;
    });
  }, []);
}

/** Browsers differ in which of these events they send. */
function onPrint(then: (isPrinted: boolean) => void): () => void {
  const media = matchMedia('print');
  const onMedia = (): void => then(media.matches);
  const before = (): void => then(true);
  const after = (): void => then(false);
  media.addEventListener('change', onMedia);
  addEventListener('beforeprint', before);
  addEventListener('afterprint', after);
  return () => {
    media.removeEventListener('change', onMedia);
    removeEventListener('beforeprint', before);
    removeEventListener('afterprint', after);
  };
}
