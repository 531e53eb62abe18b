import type { PageLimit, RanStep } from '../../../src/reports/pages/run-data.ts';
import { amount } from '../../shared/size.ts';
import { Card } from './card.tsx';

/** Each limit with how much of it the run used. */
export function Limits({ step }: { readonly step: RanStep }) {
  return (
    <Card id="limits" title="Limits and usage">
      <ul class="run-limits">
        {step.limits.map(limit => (
          <Limit key={limit.name} limit={limit} />
        ))}
      </ul>
      {step.further.length > 0 && (
        <details>
          <summary>{step.further.length} more limits, whose use is not measured</summary>
          <ul class="run-limits">
            {step.further.map(limit => (
              <li key={limit.name}>
                <p class="limit-line">
                  <span>{limit.name}</span>
                  <span>{limit.allowed === null ? 'no limit' : amount(limit.allowed, limit.unit)}</span>
                </p>
                <p class="limit-note">{worthOf(limit)}</p>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Card>
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
