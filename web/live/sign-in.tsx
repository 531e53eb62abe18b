import { useState } from 'preact/hooks';
import { Icon } from '../shared/marks.tsx';
import { Text } from '../shared/visible.tsx';
import { signIn } from './session.ts';
import { useTitle } from './title.ts';
import { useAnswer } from './use-answer.ts';

interface Props {
  readonly why: string;
  readonly onDone: () => void;
}

/** The form for a token. It never reaches the address bar or the storage of the browser. */
export function SignIn({ why, onDone }: Props) {
  useTitle('Sign in');
  const [token, setToken] = useState('');
  const [error, setError] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const { value: ways } = useAnswer<Ways>('/v1/session/ways');
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setIsBusy(true);
    setError('');
    try {
      await signIn({ token: token.trim() });
      onDone();
    } catch (refusal) {
      setError((refusal as Error).message);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <section class="card live-narrow" aria-labelledby="sign-in">
      <h1 id="sign-in">Sign in</h1>
      {ways && <Offer {...ways} />}
      <form class="live-form" onSubmit={event => void submit(event)}>
        <label>
          <span>Access token</span>
          <input
            type="password"
            autocomplete="off"
            required
            maxLength={400}
            value={token}
            aria-describedby="sign-in-error"
            onInput={event => setToken(event.currentTarget.value)}
          />
        </label>
        <button
          type="submit"
          class={`live-button${ways?.provider === true ? '' : ' live-main-button'}`}
          disabled={isBusy || token.trim() === ''}
        >
          Sign in
        </button>
      </form>
      <p id="sign-in-error" class="live-error" role="alert">
        {(error || why) && (
          <>
            <Icon path="M8 4v5M8 11.5v.5" />
            <Text value={error || why} />
          </>
        )}
      </p>
    </section>
  );
}

interface Ways {
  readonly provider: boolean;
  /** Whether the address that the server printed signs in. */
  readonly address: boolean;
}

/** The ways to sign in, the best one first. */
function Offer({ provider, address }: Ways) {
  if (address) {
    return (
      <p class="note">
        Open the address that <code>proctor serve</code> printed, or enter an access token.
      </p>
    );
  }
  if (!provider) return <p class="note">Enter an access token. An administrator can create one for you.</p>;
  return (
    <>
      <p class="live-below">
        <a class="live-button live-main-button" href={providerHref()} target="_self">
          Sign in with your organisation
        </a>
      </p>
      <p class="note">Or enter an access token.</p>
    </>
  );
}

/** The server sends the browser back to this view, but not to a sign-in that failed. */
function providerHref(): string {
  const { pathname, search } = location;
  return `/login/provider?to=${encodeURIComponent(pathname.startsWith('/login') ? '/' : pathname + search)}`;
}
