import type { ComponentChildren } from 'preact';
import type { AgentRunNote, CheckInCase } from '../../src/contracts/artifacts/index.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import { count } from '../shared/format.ts';
import { Section } from '../shared/section.tsx';
import { Text } from '../shared/visible.tsx';

/** How the agent's program ended, what it was denied and what it changed, side by side. */
export function AgentRuns({ data, isRun }: { readonly data: PageCase; readonly isRun: boolean }) {
  const runs = (['baseline', 'new'] as const).flatMap(side => {
    const run = data[side]?.agent_run;
    return run ? [{ side, run }] : [];
  });
  if (runs.length === 0) return null;
  return (
    <Section title="What the agent did">
      <div class="table-box" role="region" aria-label="What the agent did" tabIndex={0}>
        <table class="stacked">
          {!isRun && (
            <thead>
              <tr>
                <td />
                {runs.map(({ side }) => (
                  <th scope="col" key={side}>
                    {side === 'new' ? 'Candidate' : 'Baseline'}
                  </th>
                ))}
              </tr>
            </thead>
          )}
          <tbody>
            {rowsOf(runs.map(({ run }) => run)).map(([name, Cell]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {runs.map(({ side, run }) => (
                  <td key={side} data-label={isRun ? '' : side === 'new' ? 'Candidate' : 'Baseline'}>
                    <Cell {...run} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

type Row = readonly [name: string, cell: (run: AgentRunNote) => ComponentChildren];

/** Most runs have no checks. */
function rowsOf(runs: readonly AgentRunNote[]): readonly Row[] {
  return runs.some(({ checks }) => checks) ? [...ROWS, CHECKS] : ROWS;
}

const CHECKS: Row = ['Checks', ({ checks = [] }) => <Checks checks={checks} />];

const ROWS: readonly Row[] = [
  [
    'Ended as',
    ({ termination, reason }) => <span>{reason === 'ok' ? termination : `${termination} (${reason})`}</span>,
  ],
  ['Violations', ({ violations }) => <Lines lines={violations.listed.map(violationText)} total={violations.total} />],
  [
    'Flags',
    ({ flags }) => <Lines lines={flags.map(({ flag, message }) => `${flag}: ${message}`)} total={flags.length} />,
  ],
  ['Changes', ({ changes }) => <Changes changes={changes} />],
  ['Run', ({ run_id }) => <code>{run_id}</code>],
];

function Checks({ checks }: { readonly checks: readonly CheckInCase[] }) {
  if (checks.length === 0) return <span class="muted">none</span>;
  return (
    <ul class="plain">
      {checks.map(check => (
        <li key={check.name}>
          <p>
            <strong>{check.name}</strong> {check.verdict.replaceAll('_', ' ')}
            <span class="muted"> {checkText(check)}</span>
          </p>
          {check.verdict !== 'passed' && (
            <p>
              <Text value={check.message} />
            </p>
          )}
          {check.tests && check.tests.failed > 0 && <Lines lines={check.tests.failures} total={check.tests.failed} />}
        </li>
      ))}
    </ul>
  );
}

/** `12 of 14 tests pass, 1 file put back`. */
function checkText({ tests, restored, second_look: second, overlay_sha256: hidden }: CheckInCase): string {
  return [
    ...(tests ? [`${count(tests.passed)} of ${count(tests.total)} tests pass`] : []),
    ...(hidden === null ? [] : ['with hidden files']),
    ...(restored === 0 ? [] : [`${count(restored)} ${restored === 1 ? 'file' : 'files'} put back`]),
    ...(second ? [`second look ${second.verdict.replaceAll('_', ' ')}`] : []),
  ].join(', ');
}

function Changes({ changes }: { readonly changes: AgentRunNote['changes'] }) {
  if (!changes) return <span class="muted">unknown</span>;
  const { files, added, removed, commits } = changes;
  if (files.total === 0 && !commits) return <span class="muted">none</span>;
  const head = [
    `${count(files.total)} ${files.total === 1 ? 'file' : 'files'}${linesText(added, removed)}`,
    ...(commits ? [`${count(commits)} ${commits === 1 ? 'commit' : 'commits'}`] : []),
  ];
  const lines = files.listed.map(file => `${file.change} ${file.path}${linesText(file.added, file.removed)}`);
  return (
    <div>
      <p>{head.join(', ')}</p>
      <Lines lines={lines} total={files.total} />
    </div>
  );
}

/** ` +12 −3`, or an empty string if lines were not counted. */
function linesText(added: number | null, removed: number | null): string {
  return added === null || removed === null ? '' : ` +${count(added)} −${count(removed)}`;
}

/** The first entries of a list, and how many more there are. */
function Lines({ lines, total }: { readonly lines: readonly string[]; readonly total: number }) {
  if (total === 0) return <span class="muted">none</span>;
  const shown = lines.slice(0, LINES_MAX);
  return (
    <ul class="plain">
      {shown.map((line, index) => (
        <li key={index}>
          <Text value={line} />
        </li>
      ))}
      {total > shown.length && <li class="muted">and {count(total - shown.length)} more</li>}
    </ul>
  );
}

const LINES_MAX = 20;

function violationText({ class: kind, operation, path, hard }: AgentRunNote['violations']['listed'][number]): string {
  return [kind, operation, path, hard ? '(hard)' : undefined].filter(word => word !== undefined).join(' ');
}
