import type { RecoveredNote } from '../../../src/contracts/script-outcome/shape.ts';
import { instant } from '../../shared/format.ts';
import { Mark } from '../../shared/marks.tsx';

/** Says that the run was interrupted, when it was completed, and what is unknown about it. */
export function Recovered({ recovered: { at, unknown } }: { readonly recovered: RecoveredNote }) {
  return (
    <p class="run-warning">
      <Mark kind="error" />{' '}
      <span>
        Proctor was interrupted before it sealed the run. <code>proctor recover</code> completed it on {instant(at)}.
        {unknown.length > 0 && ` Unknown: ${unknown.map(what => UNKNOWN[what]).join(', ')}.`}
      </span>
    </p>
  );
}

const UNKNOWN = {
  ending: 'how it ended',
  usage: 'its resource usage',
  streams: 'whether it printed more',
  output: 'which files it wrote',
  checks: 'which checks pass',
  requests: 'how many model requests it made',
  workspace: 'what it changed',
} as const;
