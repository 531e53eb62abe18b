import { useState } from 'preact/hooks';
import { Refusal } from './api.ts';

interface Acting {
  /** Does one thing at a time. */
  readonly act: (deed: () => Promise<void>) => void;
  readonly isBusy: boolean;
  /** Why the last deed failed; empty if it did not. */
  readonly error: string;
  /** What is wrong with each field of a form. */
  readonly fields: ReadonlyMap<string, string>;
}

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

export function useAct(): Acting {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState('');
  const [fields, setFields] = useState(NO_FIELDS);
  const act = (deed: () => Promise<void>): void => {
    setIsBusy(true);
    setError('');
    setFields(NO_FIELDS);
    deed()
      .catch((refusal: unknown) => {
        setError(refusal instanceof Error ? refusal.message : 'It failed.');
        if (refusal instanceof Refusal) setFields(refusal.fields);
      })
      .finally(() => setIsBusy(false));
  };
  return { act, isBusy, error, fields };
}
