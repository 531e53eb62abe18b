import type { PageGrounds, PageHead } from '../../src/reports/page-data.ts';
import { type Address, hrefOf } from './address.ts';
import { count } from '../shared/format.ts';
import { IntervalPlot } from '../shared/interval-plot.tsx';
import { Text } from '../shared/visible.tsx';

/** The gate's sentence, the pass rates, what was ruled out, and what to do next. */
export function Decision({ head }: { readonly head: PageHead }) {
  const { grounds, gate } = head.comparison ?? { grounds: null, gate: { breaches: [] } };
  const breaches = gate.breaches.filter(({ message }) => !(head.details ?? head.sentence).includes(message));
  if (!grounds && head.details === null && breaches.length === 0) return null;
  return (
    <section class={`card decision tone-${head.tone}-edge`}>
      <h3>{head.kind === 'run' ? 'Result' : 'The gate’s decision'}</h3>
      <p class="reason">
        <Text value={head.details ?? head.sentence} />
      </p>
      {breaches.length > 0 && (
        <ul class="plain reason" aria-label="Limits not met">
          {breaches.map(({ message }, index) => (
            <li key={index}>
              <Text value={message} />
            </li>
          ))}
        </ul>
      )}
      {grounds && <Grounds of={grounds} />}
    </section>
  );
}

function Grounds({ of: { rates, rates_note, notes } }: { readonly of: PageGrounds }) {
  return (
    <div class="grounds" data-plot={rates !== null}>
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
    </div>
  );
}

interface Props {
  readonly of: PageGrounds;
  readonly address: Address;
}

const WORDS = { broken: 'Broken', suspect: 'Suspect' } as const;

/** The cases that the gate singled out. */
export function Findings({ of: { findings, found }, address }: Props) {
  if (findings.length === 0) return null;
  return (
    <section class="card findings">
      <h3>Broken and suspect cases</h3>
      <div class="table-box" role="region" aria-label="Broken and suspect cases" tabIndex={0}>
        <table class="stacked">
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
                  <a href={hrefOf(address, { case: case_id, at: '', view: '' })}>{case_id}</a>
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
    </section>
  );
}

/** In percent, with two significant digits. */
function chanceOf(p: number): string {
  const percent = 100 * p;
  return percent < 0.01 ? 'below 0.01 %' : `${Number(percent.toPrecision(2))} %`;
}
