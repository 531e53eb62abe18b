import type { AgentPage, AgentTurn } from '../../../src/reports/pages/agent-page-data.ts';
import { count, milliseconds, plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { type AgentAddress, agentHash } from './address.ts';

interface Props {
  readonly data: AgentPage;
  readonly address: AgentAddress;
}

/** The agent's counts beside those of the model proxy, then the turns. */
export function Usage({ data, address }: Props) {
  const { usage } = data;
  const { budget, refused, removed, turns, turnsNote, uncounted } = usage;
  return (
    <>
      <Totals usage={usage} />
      {uncounted !== null && <p class="note">{uncounted}</p>}
      {usage.counted && usage.counted.estimated > 0 && (
        <p class="note">{plural(usage.counted.estimated, 'answer')} reported no usage, so the proxy estimated it.</p>
      )}
      {budget.length > 0 && <p class="note">At most {budget.map(({ value }) => value).join(', ')}.</p>}
      {refused.length > 0 && (
        <p class="note">
          The model proxy refused: <Text value={refused.join(', ')} />.
        </p>
      )}
      {removed.length > 0 && (
        <p class="note">
          The model proxy removed before sending: <Text value={removed.join(', ')} />.
        </p>
      )}
      {turns.length > 0 && (
        <details class="more" open={turns.length <= 12}>
          <summary>By turn ({plural(usage.turnsTotal, 'turn')})</summary>
          <Turns turns={turns} address={address} />
        </details>
      )}
      {turnsNote !== null && <p class="note">{turnsNote}</p>}
    </>
  );
}

const known = (value: number | null | undefined, format: (value: number) => string = count): string =>
  value === null || value === undefined ? '–' : format(value);

const cost = (value: number): string => `$${value.toFixed(value < 1 ? 4 : 2)}`;

function Totals({ usage: { reported, counted } }: { readonly usage: AgentPage['usage'] }) {
  const rows = [
    ['Turns or answers', reported?.turns, counted?.requests, count],
    ['Tokens in', reported?.input_tokens, counted?.input_tokens, count],
    ['of them cached', reported?.cached_input_tokens, counted?.cached_input_tokens, count],
    ['Tokens out', reported?.output_tokens, counted?.output_tokens, count],
    ['Cost', reported?.cost_usd, counted?.cost_usd, cost],
  ] as const;
  return (
    <div class="table-box" role="region" aria-label="Totals" tabIndex={0}>
      <table class="totals">
        <thead>
          <tr>
            <td />
            <th scope="col">The agent says</th>
            <th scope="col">The proxy counted</th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, agent, proxy, format]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td data-label="Agent">{known(agent, format)}</td>
              <td data-label="Proxy">{known(proxy, format)}</td>
              <td data-label="Difference">
                <Difference agent={agent ?? null} proxy={proxy ?? null} format={format} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface DifferenceProps {
  readonly agent: number | null;
  readonly proxy: number | null;
  readonly format: (value: number) => string;
}

function Difference({ agent, proxy, format }: DifferenceProps) {
  if (agent === null || proxy === null) return <span class="muted">unknown</span>;
  if (agent === proxy) return <span class="muted">none</span>;
  const by = proxy - agent;
  return (
    <span class="differs">
      the proxy counted {format(Math.abs(by))} {by > 0 ? 'more' : 'less'}
    </span>
  );
}

function Turns({ turns, address }: { readonly turns: readonly AgentTurn[]; readonly address: AgentAddress }) {
  const most = Math.max(1, ...turns.map(({ inputTokens }) => inputTokens ?? 0));
  return (
    <div class="table-box" role="region" aria-label="Turns" tabIndex={0}>
      <table class="turns">
        <thead>
          <tr>
            <th scope="col">Turn</th>
            <th scope="col">Tokens in</th>
            <th scope="col">Cached</th>
            <th scope="col">Calls</th>
            <th scope="col">Model</th>
            <th scope="col">Tools</th>
          </tr>
        </thead>
        <tbody>
          {turns.map(({ turn, seq, inputTokens, cachedTokens, calls, waitedMs, toolsMs }, index) => {
            const isGap = index > 0 && turn !== (turns[index - 1]?.turn ?? 0) + 1;
            return (
              <tr key={turn} data-gap={isGap}>
                <th scope="row">
                  <a href={agentHash(address, { line: String(seq), q: '' })}>{count(turn)}</a>
                </th>
                <td data-label="Tokens in">
                  {known(inputTokens)}
                  {inputTokens !== null && (
                    <span class="token-bar" aria-hidden="true">
                      <span style={{ width: `${(100 * inputTokens) / most}%` }} />
                    </span>
                  )}
                </td>
                <td data-label="Cached">{known(cachedTokens)}</td>
                <td data-label="Calls">{count(calls)}</td>
                <td data-label="Model">{milliseconds(waitedMs)}</td>
                <td data-label="Tools">{milliseconds(toolsMs)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
