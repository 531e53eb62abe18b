import { Text } from '../shared/visible.tsx';
import type { Refusal } from './api.ts';
import { visit } from './router.ts';

interface Props {
  readonly title: string;
  readonly text: string;
  readonly action?: readonly [label: string, act: () => void];
}

/** A view that has nothing to show, and why. */
export function Notice({ title, text, action }: Props) {
  return (
    <section class="live-notice">
      <h1>{title}</h1>
      <p>
        <Text value={text} />
      </p>
      {action && (
        <button type="button" class="live-button" onClick={action[1]}>
          {action[0]}
        </button>
      )}
    </section>
  );
}

/** Why a view has no data. */
export function Refused({ refusal, again }: { readonly refusal: Refusal; readonly again: () => void }) {
  if (refusal.code === 'not_signed_in')
    return <Notice title="Signed out" text="Your session has ended." action={['Sign in', () => location.reload()]} />;
  return (
    <Notice
      title={TITLES[refusal.status] ?? 'Something went wrong'}
      text={refusal.message}
      action={refusal.status === 404 ? ['Show the start page', () => visit('/')] : ['Try again', again]}
    />
  );
}

const TITLES: Readonly<Record<number, string>> = { 403: 'Not allowed', 404: 'Not found', 409: 'Not available' };

/** Says that what the view shows may be old, because the last request failed. */
export function Stale({ refusal }: { readonly refusal: Refusal | undefined }) {
  return (
    <p class="live-stale" role="status">
      {refusal && <Text value={`Not up to date: ${refusal.message}`} />}
    </p>
  );
}
