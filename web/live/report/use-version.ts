import { useRef } from 'preact/hooks';

/** A number that grows with every new answer. */
export function useVersion(answer: unknown): number {
  const seen = useRef({ answer, version: 0 });
  if (seen.current.answer !== answer) seen.current = { answer, version: seen.current.version + 1 };
  return seen.current.version;
}
