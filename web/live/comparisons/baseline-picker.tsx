import { useState } from 'preact/hooks';
import type { BaselineChoices, ComparisonRow } from '../../../src/verbs/reading/comparison-list.ts';
import { instant, plural } from '../../shared/format.ts';
import { plain, Text } from '../../shared/visible.tsx';
import { order } from '../api.ts';
import { visit } from '../router.ts';
import { includes, useHas, useWho } from '../session.ts';
import { useAct } from '../use-act.ts';
import { useAnswer } from '../use-answer.ts';

interface Made {
  readonly comparison: ComparisonRow | null;
}

/** Compares a finished suite run with another run of its suite, or with an accepted baseline. */
export function BaselinePicker({ runId }: { readonly runId: string }) {
  const isRunner = includes(useWho().role, 'runner');
  const hasRoute = useHas('POST /v1/comparisons');
  const path = `/v1/runs/${encodeURIComponent(runId)}/baselines`;
  const { value } = useAnswer<BaselineChoices>(isRunner && hasRoute ? path : null);
  const [chosen, setChosen] = useState('');
  const { act, isBusy, error } = useAct();
  const options = value ? optionsOf(value) : [];
  if (options.length === 0) return null;
  const picked = options.find(({ key }) => key === chosen) ?? options[0];
  const compare = (): void =>
    act(async () => {
      const made = await comparisonOf({ candidate: runId, ...picked?.order });
      visit(`/comparisons/${encodeURIComponent(made.comparison_id)}`);
    });
  return (
    <div class="live-pick">
      <label>
        <span class="unseen">Baseline to compare with</span>
        <select value={picked?.key} onChange={event => setChosen(event.currentTarget.value)} disabled={isBusy}>
          {options.map(({ key, text }) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <button type="button" class="live-button" disabled={isBusy} onClick={compare}>
        {isBusy ? 'Comparing…' : 'Compare'}
      </button>
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
    </div>
  );
}

/** A long comparison answers before it is done. The same request waits for it. */
async function comparisonOf(asked: object): Promise<ComparisonRow> {
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const { comparison } = await order<Made>('POST', '/v1/comparisons', asked);
    if (comparison) return comparison;
  }
  throw new Error('The comparison takes too long. Look for it in the list of comparisons later.');
}

const TURNS_MAX = 30;

function optionsOf({ runs, accepted }: BaselineChoices) {
  return [
    ...accepted.map(({ name, trials }) => ({
      key: `accepted ${name}`,
      text: `Accepted: ${plain(name)} (${plural(trials, 'trial')})`,
      order: { baseline_name: name },
    })),
    ...runs.map(({ run_id: id, side, trials, generated_at: at }) => ({
      key: `run ${id}`,
      text: `${side === 'baseline' ? 'Baseline' : 'Candidate'} ${plain(id)}, ${instant(at)} (${plural(trials, 'trial')})`,
      order: { baseline_run: id },
    })),
  ];
}
