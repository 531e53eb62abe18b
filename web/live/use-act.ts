import { useState } from 'preact/hooks';

interface Acting {
  /** Does one thing at a time. */
  readonly act: (deed: () => Promise<void>) => void;
  readonly isBusy: boolean;
  /** Why the last deed failed; empty if it did not. */
  readonly error: string;
}

export function useAct(): Acting {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState('');
  const act = (deed: () => Promise<void>): void => {
    setIsBusy(true);
    setError('');
    deed()
      .catch((refusal: unknown) => setError(refusal instanceof Error ? refusal.message : 'It failed.'))
      .finally(() => setIsBusy(false));
  };
  return { act, isBusy, error };
}
