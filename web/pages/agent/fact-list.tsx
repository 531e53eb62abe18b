import type { AgentFact } from '../../../src/reports/pages/agent-page-data.ts';
import { Text } from '../../shared/visible.tsx';

/** Names with values, and a note for some of them. */
export function FactList({ facts }: { readonly facts: readonly AgentFact[] }) {
  return (
    <dl class="agent-facts">
      {facts.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Text value={value} />
            {note && (
              <span class="fact-note">
                <Text value={note} />
              </span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
