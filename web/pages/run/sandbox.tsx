import type { PageGuard, RanStep } from '../../../src/reports/pages/run-data.ts';
import { KINDS, Mark } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { Card, Rest } from './card.tsx';

/** What was requested, what enforced it, and what the probes saw. */
export function Sandbox({ step }: { readonly step: RanStep }) {
  const { guards, warnings, absent } = step.sandbox;
  return (
    <Card id="sandbox" title="Sandbox">
      {absent !== null && (
        <p class="note">
          <Text value={absent} />
        </p>
      )}
      <div class="table-box stacked" role="region" aria-label="Properties of the sandbox" tabIndex={0}>
        <table>
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
                <td data-label="Probe before the run">
                  <Probe probe={guard.probe} />
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
    </Card>
  );
}

function Probe({ probe }: { readonly probe: PageGuard['probe'] }) {
  if (probe === null) return <span class="muted">not probed</span>;
  const kind = probe.held ? 'pass' : 'fail';
  return (
    <span class="run-probe">
      <Mark kind={kind} />
      <span>
        <strong>{KINDS[kind].word}:</strong> <Text value={probe.note} />
      </span>
    </span>
  );
}
