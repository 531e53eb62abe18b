import { useState } from 'preact/hooks';
import { Copyable } from '../../shared/copy.tsx';
import { count, instant } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { order } from '../api.ts';
import { Refused } from '../notice.tsx';
import { useAct } from '../use-act.ts';
import { useAnswer } from '../use-answer.ts';

interface Token {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly role: string;
  readonly groups: readonly string[];
  readonly rate: number | null;
  readonly waiting: number | null;
  readonly expires_at: string;
  readonly last_used_on: string | null;
  readonly state: 'active' | 'expired' | 'revoked';
}

/** The tokens of this server. A new token is shown once. */
export function TokensCard() {
  const { value, refusal, again } = useAnswer<{ readonly tokens: readonly Token[] }>('/v1/tokens');
  return (
    <section class="card" aria-labelledby="tokens">
      <h2 id="tokens">Access tokens</h2>
      <NewToken onMade={again} />
      {refusal && <Refused refusal={refusal} again={again} />}
      {value?.tokens.length === 0 && <p class="note">There is no token yet.</p>}
      {value && value.tokens.length > 0 && <TokenTable tokens={value.tokens} onChange={again} />}
    </section>
  );
}

function NewToken({ onMade }: { readonly onMade: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState('viewer');
  const [rate, setRate] = useState('');
  const [waiting, setWaiting] = useState('');
  const [made, setMade] = useState('');
  const { act, error, isBusy } = useAct();
  const submit = (event: Event): void => {
    event.preventDefault();
    act(async () => {
      const quotas = {
        ...(rate !== '' && { rate: Number(rate) }),
        ...(waiting !== '' && { waiting: Number(waiting) }),
      };
      const asked = { name: name.trim(), role, ...quotas };
      const { token } = await order<{ readonly token: string }>('POST', '/v1/tokens', asked);
      setMade(token);
      setName('');
      onMade();
    });
  };
  return (
    <>
      <form class="live-inline" onSubmit={submit}>
        <label>
          <span>Name</span>
          <input
            required
            maxLength={100}
            value={name}
            placeholder="ci"
            onInput={event => setName(event.currentTarget.value)}
          />
        </label>
        <label>
          <span>Role</span>
          <select value={role} onChange={event => setRole(event.currentTarget.value)}>
            {['user', 'viewer', 'runner', 'admin', 'worker'].map(one => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <Quota label="Requests per minute" max={1_000_000} value={rate} onChange={setRate} />
        <Quota label="Waiting orders" max={1_000} value={waiting} onChange={setWaiting} />
        <button type="submit" class="live-button" disabled={isBusy || name.trim() === ''}>
          Create token
        </button>
      </form>
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
      {made !== '' && (
        <div class="live-made">
          <p>Copy the token now. The server does not show it again.</p>
          <Copyable text={made} label="the new token" />
        </div>
      )}
    </>
  );
}

interface QuotaProps {
  readonly label: string;
  readonly max: number;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A limit of the token; empty for the limit of the server. */
function Quota({ label, max, value, onChange }: QuotaProps) {
  return (
    <label>
      <span>{label}</span>
      <input
        type="number"
        min={1}
        max={max}
        step={1}
        value={value}
        placeholder="as the server"
        onInput={event => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

function TokenTable({ tokens, onChange }: { readonly tokens: readonly Token[]; readonly onChange: () => void }) {
  const { act, error, isBusy } = useAct();
  const revoke = (id: string): void =>
    act(async () => {
      await order('DELETE', `/v1/tokens/${encodeURIComponent(id)}`);
      onChange();
    });
  return (
    <>
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Role</th>
            <th scope="col">Quotas</th>
            <th scope="col">State</th>
            <th scope="col">Expires</th>
            <th scope="col">Last used</th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map(token => (
            <TokenRow key={token.id} token={token} isBusy={isBusy} onRevoke={() => revoke(token.id)} />
          ))}
        </tbody>
      </table>
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
    </>
  );
}

interface TokenRowProps {
  readonly token: Token;
  readonly isBusy: boolean;
  readonly onRevoke: () => void;
}

function TokenRow({ token, isBusy, onRevoke }: TokenRowProps) {
  const { name, prefix, role, groups, state, expires_at: expires, last_used_on: used } = token;
  return (
    <tr>
      <th scope="row">
        <Text value={name} /> <code class="muted">{prefix}…</code>
      </th>
      <td data-label="Role">
        {role} {groups.length > 0 && <span class="muted">in {groups.join(', ')}</span>}
      </td>
      <td data-label="Quotas">{quotasText(token)}</td>
      <td data-label="State">{state}</td>
      <td data-label="Expires" class="live-whole">
        {instant(expires)}
      </td>
      <td data-label="Last used" class="live-whole">
        {used ?? 'never'}
      </td>
      <td>
        {state === 'active' && (
          <button type="button" class="small" disabled={isBusy} onClick={onRevoke}>
            Revoke
            <span class="unseen">
              {' '}
              <Text value={name} />
            </span>
          </button>
        )}
      </td>
    </tr>
  );
}

function quotasText({ rate, waiting }: Pick<Token, 'rate' | 'waiting'>): string {
  const parts = [
    rate === null ? undefined : `${count(rate)}/min`,
    waiting === null ? undefined : `${count(waiting)} waiting`,
  ].filter(part => part !== undefined);
  return parts.length === 0 ? 'as the server' : parts.join(', ');
}
