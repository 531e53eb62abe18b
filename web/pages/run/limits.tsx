import type { PageLimit, RanStep } from '../../../src/reports/pages/run-data.ts';
import { amount } from '../../shared/size.ts';
import { LinkedCard } from './card.tsx';

interface Props {
  readonly step: RanStep;
  /** The run is not finished, so its use is not known yet. */
  readonly isOpen?: boolean;
}

/** Each limit with how much of it the run used. */
export function Limits({ step, isOpen = false }: Props) {
  const Measured = isOpen ? Unmeasured : Limit;
  return (
    <LinkedCard
      id="limits"
      title={isOpen ? 'Limits' : 'Limits and usage'}
      note={isOpen && 'usage is known after the run'}
    >
      <ul class="run-limits">
        {step.limits.map(limit => (
          <Measured key={limit.name} limit={limit} />
        ))}
      </ul>
      {step.further.length > 0 && (
        <details>
          <summary>{step.further.length} more limits, whose use is not measured</summary>
          <ul class="run-limits">
            {step.further.map(limit => (
              <Unmeasured key={limit.name} limit={limit} />
            ))}
          </ul>
        </details>
      )}
    </LinkedCard>
  );
}

function Unmeasured({ limit }: { readonly limit: PageLimit }) {
  return (
    <li>
      <p class="limit-line">
        <span>{limit.name}</span>
        <span>{limit.allowed === null ? 'no limit' : amount(limit.allowed, limit.unit)}</span>
      </p>
      <p class="limit-note">{worthOf(limit)}</p>
    </li>
  );
}

function Limit({ limit }: { readonly limit: PageLimit }) {
  const { name, unit, allowed, used, note } = limit;
  const share = allowed === null || used === null || allowed === 0 ? null : used / allowed;
  const percent = share === null ? null : share > 0 && share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`;
  return (
    <li>
      <p class="limit-line">
        <span>{name}</span>
        <span>
          <strong>{used === null ? 'not measured' : amount(used, unit)}</strong>
          {allowed === null ? ', no limit' : ` of ${amount(allowed, unit)}`}
        </span>
      </p>
      {percent !== null && share !== null && (
        <div class="use" data-full={share >= 1 ? 'over' : share >= 0.9 ? 'near' : 'no'}>
          <span class="use-bar" aria-hidden="true">
            {share > 0 && <span style={{ width: `${Math.min(100, share * 100)}%` }} />}
          </span>
          <span class="use-share">
            {percent}
            {share >= 1 ? ', at the limit' : share >= 0.9 ? ', near the limit' : ''}
          </span>
        </div>
      )}
      <p class="limit-note">{worthOf(limit)}</p>
      {note !== null && <p class="limit-note">{note}</p>}
    </li>
  );
}

/** How strong the limit is, what enforces it, and whether it was requested. */
function worthOf({ allowed, asked, unit, strength, by }: PageLimit): string {
  if (allowed === null) return asked === null ? 'no limit requested' : `requested ${amount(asked, unit)}, but not set`;
  const held = strength === null ? 'strength unknown' : STRENGTHS[strength];
  const from = asked === null ? 'by default' : asked === allowed ? 'as requested' : `requested ${amount(asked, unit)}`;
  return `${held}${by === null ? '' : ` (${by})`}, ${from}`;
}

const STRENGTHS = {
  enforced: 'enforced',
  watched: 'watched: Proctor stops the run when it sees more',
  per_process: 'enforced for each process',
  absent: 'not enforced',
} as const;
