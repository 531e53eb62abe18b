import type { MatrixPage } from '../../../src/reports/pages/matrix-page.ts';
import { Card } from '../../shared/card.tsx';
import { count } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { CaseTable } from './cases.tsx';
import { Grid } from './grid.tsx';
import { Scatter } from './scatter.tsx';
import { Versions } from './versions.tsx';
import { useMatrixView } from './view.ts';

/** Several versions over the same cases. */
export function MatrixBody({ data }: { readonly data: MatrixPage }) {
  const view = useMatrixView();
  return (
    <div class="matrix">
      <Versions data={data} />
      <div class="matrix-pair">
        <Grid data={data} view={view} />
        <Scatter data={data} view={view} />
      </div>
      {data.conditions.length > 0 && <Conditions data={data} />}
      <CaseTable data={data} view={view} />
      <Card id="reading" title="How to read this page">
        {data.notes.map(note => (
          <p class="matrix-note" key={note}>
            <Text value={note} />
          </p>
        ))}
        <p class="matrix-note">
          The pass rate is the mean over the cases of a version, with its 95 % confidence interval. Time, cost and
          tokens include failed trials. “–” means that the agent did not report the value in every answer.
        </p>
      </Card>
    </div>
  );
}

/** What differs between the versions besides their answers. */
function Conditions({ data: { conditions, conditions_total, versions } }: { readonly data: MatrixPage }) {
  return (
    <Card id="conditions" title="Conditions that differ">
      <div class="table-box" role="region" aria-label="Table of the conditions" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Condition</th>
              {versions.map(({ name }, index) => (
                <th scope="col" key={name}>
                  {index + 1} <Text value={name} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {conditions.map(({ name, values }) => (
              <tr key={name}>
                <th scope="row">
                  <Text value={name} />
                </th>
                {values.map((value, index) => (
                  <td key={index}>{value === '–' ? value : <code>{<Text value={value} />}</code>}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {conditions_total > conditions.length && (
        <p class="note">And {count(conditions_total - conditions.length)} more, in the JSON report.</p>
      )}
      <p class="note">A difference here can explain a different result. Unknown values count as equal.</p>
    </Card>
  );
}
