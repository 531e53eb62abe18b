import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import { JsonView, ValueDiff } from './values.tsx';
import { Section } from './section.tsx';
import { Text } from './visible.tsx';

type Action = NonNullable<CaseArtifact['proposed_actions']>[number];

interface Row {
  readonly old: readonly [number, Action] | undefined;
  readonly young: readonly [number, Action] | undefined;
}

/** The proposed actions of both sides. Actions of the same type are paired in order. */
export function Actions({ data, isRun }: { readonly data: PageCase; readonly isRun: boolean }) {
  const rows = pairsOf(data.baseline?.proposed_actions ?? [], data.new?.proposed_actions ?? []);
  if (rows.length === 0) return null;
  return (
    <Section title="Proposed actions">
      <ol class="events" data-at="baseline:proposed_actions new:proposed_actions" tabIndex={-1}>
        {rows.map(({ old, young }, index) => {
          const [, action] = (young ?? old) as readonly [number, Action];
          const places = [
            ...(old ? [`baseline:proposed_actions[${old[0]}]`] : []),
            ...(young ? [`new:proposed_actions[${young[0]}]`] : []),
          ];
          const isSame = old && young && JSON.stringify(tellingOf(old[1])) === JSON.stringify(tellingOf(young[1]));
          const how = isRun || isSame ? 'same' : old && young ? 'changed' : old ? 'gone' : 'added';
          return (
            <li key={index} class="event" data-how={how} data-at={places.join(' ')} tabIndex={-1}>
              <span class="event-title">
                <span class="type">{action.risk_level} risk</span>
                <strong>
                  <Text value={action.action_type} />
                </strong>
                <span class="tells">
                  <Text value={action.tool_name} />
                </span>
                {!isRun && !isSame && (
                  <span class="how">
                    {{ changed: 'differs', gone: 'only in baseline', added: 'only in new', same: '' }[how]}
                  </span>
                )}
              </span>
              {old && young && !isSame ? (
                <ValueDiff baseline={tellingOf(old[1])} fresh={tellingOf(young[1])} />
              ) : (
                <JsonView value={action.params} />
              )}
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

function pairsOf(old: readonly Action[], young: readonly Action[]): Row[] {
  const free = new Map<string, (readonly [number, Action])[]>();
  for (const entry of old.entries()) {
    const { action_type } = entry[1];
    free.set(action_type, [...(free.get(action_type) ?? []), entry]);
  }
  const rows: Row[] = [...young.entries()].map(entry => ({
    old: free.get(entry[1].action_type)?.shift(),
    young: entry,
  }));
  return [...rows, ...[...free.values()].flat().map(entry => ({ old: entry, young: undefined }))];
}

function tellingOf({ action_id: _id, evidence_refs, ...rest }: Action): unknown {
  return { ...rest, evidence: evidence_refs.length };
}
