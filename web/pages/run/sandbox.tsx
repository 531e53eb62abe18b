import type { RanStep } from '../../../src/reports/pages/run-data.ts';
import { Mark } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { Probe } from '../probe.tsx';
import { Rest, LinkedCard } from './card.tsx';

/** What was requested, what enforced it, and what the probes saw. */
export function Sandbox({ step }: { readonly step: RanStep }) {
  const { guards, warnings, absent } = step.sandbox;
  return (
    <LinkedCard id="sandbox" title="Sandbox">
      {absent !== null && (
        <p class="note">
          <Text value={absent} />
        </p>
      )}
      <div class="table-box" role="region" aria-label="Properties of the sandbox" tabIndex={0}>
        <table class="stacked">
          <thead>
            <tr>
              <th scope="col">Property</th>
              <th scope="col">Requested</th>
              <th scope="col">Enforced</th>
              <th scope="col">Probe before the run</th>
            </tr>
          </thead>
          <tbody>
            {guards.map(guard => (
              <tr key={guard.name}>
                <th scope="row">{guard.name}</th>
                <td data-label="Requested">{guard.asked === null ? 'default' : <Text value={guard.asked} />}</td>
                <td data-label="Enforced">{guard.enforced}</td>
                <td data-label="Probe">
                  {guard.probe === null ? <span class="muted">not probed</span> : <Probe {...guard.probe} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {warnings.shown.map(warning => (
        <p key={warning} class="run-warning">
          <Mark kind="error" />
          <span>
            <strong>Warning:</strong> <Text value={warning} />
          </span>
        </p>
      ))}
      <Rest list={warnings} what="warnings" />
    </LinkedCard>
  );
}
