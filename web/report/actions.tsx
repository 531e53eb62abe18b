import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import { JsonView, ValueDiff } from '../shared/values.tsx';
import { Section } from '../shared/section.tsx';
import { Text } from '../shared/visible.tsx';

type Action = NonNullable<CaseArtifact['proposed_actions']>[number];

interface Row {
  readonly baseline: readonly [number, Action] | undefined;
  readonly candidate: readonly [number, Action] | undefined;
}

/** The proposed actions of both sides. Actions of the same type are paired in order. */
export function Actions({ data, isRun }: { readonly data: PageCase; readonly isRun: boolean }) {
  const rows = pairsOf(data.baseline?.proposed_actions ?? [], data.new?.proposed_actions ?? []);
  if (rows.length === 0) return null;
  return (
    <Section title="Proposed actions">
      <ol class="events" data-at="baseline:proposed_actions new:proposed_actions" tabIndex={-1}>
        {rows.map(({ baseline, candidate }, index) => {
          const [, action] = (candidate ?? baseline) as readonly [number, Action];
          const places = [
            ...(baseline ? [`baseline:proposed_actions[${baseline[0]}]`] : []),
            ...(candidate ? [`new:proposed_actions[${candidate[0]}]`] : []),
          ];
          const isSame =
            baseline && candidate && JSON.stringify(tellingOf(baseline[1])) === JSON.stringify(tellingOf(candidate[1]));
          const how = isRun || isSame ? 'same' : baseline && candidate ? 'changed' : baseline ? 'gone' : 'added';
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
                    {{ changed: 'differs', gone: 'only in baseline', added: 'only in candidate', same: '' }[how]}
                  </span>
                )}
              </span>
              {baseline && candidate && !isSame ? (
                <ValueDiff baseline={tellingOf(baseline[1])} candidate={tellingOf(candidate[1])} />
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

function pairsOf(baseline: readonly Action[], candidate: readonly Action[]): Row[] {
  const free = new Map<string, (readonly [number, Action])[]>();
  for (const entry of baseline.entries()) {
    const { action_type } = entry[1];
    free.set(action_type, [...(free.get(action_type) ?? []), entry]);
  }
  const rows: Row[] = [...candidate.entries()].map(entry => ({
    baseline: free.get(entry[1].action_type)?.shift(),
    candidate: entry,
  }));
  return [...rows, ...[...free.values()].flat().map(entry => ({ baseline: entry, candidate: undefined }))];
}

function tellingOf({ action_id: _id, evidence_refs, ...rest }: Action): unknown {
  return { ...rest, evidence: evidence_refs.length };
}
