import type { RecoveredNote } from '../../../src/contracts/script-outcome/shape.ts';
import { unknownPartsText } from '../../../src/contracts/script-outcome/unknown-parts.ts';
import { instant } from '../../shared/format.ts';
import { Mark } from '../../shared/marks.tsx';

/** Says that the run was interrupted, when it was completed, and what is unknown about it. */
export function Recovered({ recovered: { at, unknown } }: { readonly recovered: RecoveredNote }) {
  return (
    <p class="run-warning">
      <Mark kind="error" />{' '}
      <span>
        Proctor was interrupted before it sealed the run. <code>proctor recover</code> completed it on {instant(at)}.
        {unknown.length > 0 && ` Unknown: ${unknownPartsText(unknown)}.`}
      </span>
    </p>
  );
}
