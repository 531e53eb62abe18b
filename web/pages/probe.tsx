import { KINDS, Mark } from '../shared/marks.tsx';
import { Text } from '../shared/visible.tsx';

/** What a probe of the sandbox saw before the run. */
export function Probe({ held, note }: { readonly held: boolean; readonly note: string }) {
  const kind = held ? 'pass' : 'fail';
  return (
    <span class="run-probe">
      <Mark kind={kind} />
      <span>
        <strong>{KINDS[kind].word}:</strong> <Text value={note} />
      </span>
    </span>
  );
}
