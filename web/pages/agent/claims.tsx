import type { AgentPage } from '../../../src/reports/pages/agent-page-data.ts';
import { count } from '../../shared/format.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { type AgentAddress, agentHash } from './address.ts';
import { LongText } from './summary.tsx';

interface Props {
  readonly data: AgentPage;
  readonly address: AgentAddress;
}

/** What the agent says beside what Proctor saw, and where they contradict each other. */
export function Claims({ data: { claims, response }, address }: Props) {
  const { flags, note, effects } = claims;
  return (
    <>
      <div class="claims">
        <div class="claim">
          <h3 class="small-title">The agent says</h3>
          {response ? <LongText value={response} name="response" /> : <p class="muted">It gave no final response.</p>}
        </div>
        <div class="claim">
          <h3 class="small-title">Proctor saw</h3>
          <ul class="bullets">
            {effects.map(({ text, seq }) => (
              <li key={text}>
                <Text value={text} /> <Line seq={seq} address={address} />
              </li>
            ))}
          </ul>
        </div>
      </div>
      {note !== null && <p class="note">{note}</p>}
      {flags && (
        <ul class="review">
          {flags.length === 0 && (
            <li data-tone="good">
              <Icon path={VERDICT_ICONS.good} />
              <p>Proctor found no claim that contradicts the record. It cannot judge every claim.</p>
            </li>
          )}
          {flags.map(({ flag, message, seq }) => (
            <li key={flag} data-tone="unsure">
              <Icon path={VERDICT_ICONS.unsure} />
              <p>
                <Text value={message} /> <span class="tag">{flag}</span> <Line seq={seq} address={address} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Line({ seq, address }: { readonly seq: number | null; readonly address: AgentAddress }) {
  if (seq === null) return null;
  return <a href={agentHash(address, { line: String(seq), q: '' })}>line {count(seq)}</a>;
}
