import type { ScriptRunView } from '../../../src/publish/views.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { CLOCK } from '../runs/run-words.tsx';

const STATES: Record<ScriptRunView['state'], readonly [tone: string, path: string]> = {
  waiting: ['calm', CLOCK],
  running: ['flaky', 'M6 4.5 11 8l-5 3.5z'],
  succeeded: ['good', VERDICT_ICONS.good],
  failed: ['bad', VERDICT_ICONS.bad],
  timed_out: ['bad', CLOCK],
  stopped: ['unsure', 'M5.5 5.5h5v5h-5z'],
  lost: ['unsure', VERDICT_ICONS.unsure],
};

export function ScriptState({ state }: { readonly state: ScriptRunView['state'] }) {
  const [tone, path] = STATES[state];
  return (
    <span class={`pill tone-${tone}`}>
      <Icon path={path} />
      {state === 'lost' ? 'result lost' : state.replaceAll('_', ' ')}
    </span>
  );
}
