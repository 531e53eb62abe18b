import type { ScriptRunView } from '../../../src/publish/views.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';

const STATES: Record<ScriptRunView['state'], readonly [tone: string, path: string]> = {
  waiting: ['calm', 'M8 4.5V8l2.5 2'],
  running: ['flaky', 'M6 4.5 11 8l-5 3.5z'],
  succeeded: ['good', VERDICT_ICONS.good],
  failed: ['bad', VERDICT_ICONS.bad],
  timed_out: ['bad', 'M8 4.5V8l2.5 2'],
  stopped: ['unsure', 'M5.5 5.5h5v5h-5z'],
};

export function ScriptState({ state }: { readonly state: ScriptRunView['state'] }) {
  const [tone, path] = STATES[state];
  return (
    <span class={`pill tone-${tone}`}>
      <Icon path={path} />
      {state.replaceAll('_', ' ')}
    </span>
  );
}
