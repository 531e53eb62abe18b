import type { PageGrounds } from '../../src/reports/page-data.ts';
import { type Address, hashOf } from './address.ts';
import { count } from '../shared/format.ts';
import { IntervalPlot } from '../shared/interval-plot.tsx';
import { Text } from '../shared/visible.tsx';

interface Props {
  readonly of: PageGrounds;
  readonly address: Address;
}

/** The evidence behind the verdict: pass rates, what was ruled out, and what to do next. */
export function Grounds({ of, address }: Props) {
  const { rates, rates_note, notes, findings } = of;
  return (
    <section class="card grounds">
      <h3>Confidence in the verdict</h3>
      {rates && <IntervalPlot rates={rates} says={rates_note ?? ''} />}
      {notes.length > 0 && (
        <dl class="notes">
          {notes.map(({ label, says }) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                <Text value={says.charAt(0).toUpperCase() + says.slice(1)} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {findings.length > 0 && <Findings of={of} address={address} />}
    </section>
  );
}

const WORDS = { broken: 'Broken', suspect: 'Suspect' } as const;

function Findings({ of: { findings, found }, address }: Props) {
  return (
    <>
      <div class="table-box" role="region" aria-label="Broken and suspect cases" tabIndex={0}>
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">Case</th>
              <th scope="col">Finding</th>
              <th scope="col">Baseline passed</th>
              <th scope="col">Candidate passed</th>
              <th scope="col">Chance if unchanged</th>
            </tr>
          </thead>
          <tbody>
            {findings.map(({ case_id, as, baseline, new: candidate, p }) => (
              <tr key={case_id}>
                <th scope="row">
                  <a href={hashOf(address, { case: case_id, at: '', view: '' })}>{case_id}</a>
                </th>
                <td data-label="Finding">
                  <span class="finding" data-as={as}>
                    {WORDS[as]}
                  </span>
                </td>
                <td data-label="Baseline passed">{baseline}</td>
                <td data-label="Candidate passed">{candidate}</td>
                <td data-label="Chance if unchanged">{chanceOf(p)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found > findings.length && (
        <p class="note">And {count(found - findings.length)} more, marked in the list of cases.</p>
      )}
      <p class="note">
        A broken case fails more often than chance explains. The failures of a suspect case may be due to chance.
      </p>
    </>
  );
}

/** In percent, with two significant digits. */
function chanceOf(p: number): string {
  const percent = 100 * p;
  return percent < 0.01 ? 'below 0.01 %' : `${Number(percent.toPrecision(2))} %`;
}
