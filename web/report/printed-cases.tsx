import { useMemo } from 'preact/hooks';
import type { PageHead, PageRow } from '../../src/reports/page-data.ts';
import { count, tallyOf } from '../shared/format.ts';
import { KINDS } from '../shared/marks.tsx';
import { useSource } from '../shared/source.ts';
import { Text } from '../shared/visible.tsx';

/** The cases that need attention, for paper. The list on the screen draws only visible rows. */
export function PrintedCases({ head }: { readonly head: PageHead }) {
  const source = useSource();
  const { rows, total } = useMemo(() => source.urgent(), [source]);
  if (total === 0) return null;
  const shown = rows.slice(0, PRINTED_MAX);
  return (
    <section class="printed">
      <h3>Cases that need attention</h3>
      <table>
        <thead>
          <tr>
            <th scope="col">Case</th>
            <th scope="col">{head.kind === 'run' ? 'Verdict' : 'Change'}</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(row => (
            <PrintedRow key={row[0]} row={row} isRun={head.kind === 'run'} />
          ))}
        </tbody>
      </table>
      {total > shown.length && <p>And {count(total - shown.length)} more, in the list on the screen.</p>}
    </section>
  );
}

const PRINTED_MAX = 200;

function PrintedRow({ row, isRun }: { readonly row: PageRow; readonly isRun: boolean }) {
  const [id, title, kind, , baseline, candidate, , , , , , why, , tally] = row;
  const trials = isRun ? null : (tally ?? tallyOf(baseline, candidate));
  return (
    <tr>
      <th scope="row">
        <code>{id}</code> {title !== 0 && <Text value={title} />}
      </th>
      <td>
        {KINDS[kind].word} {trials}
      </td>
      <td>{why === 0 ? '–' : <Text value={why} />}</td>
    </tr>
  );
}
