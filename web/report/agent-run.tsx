import type { AgentRunNote } from '../../src/contracts/artifacts/index.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import { count } from './format.ts';
import { Section } from './section.tsx';
import { Text } from './visible.tsx';

/** How the run of an agent's program ended, what it was denied, and what it changed. */
export function AgentRuns({ data, isRun }: { readonly data: PageCase; readonly isRun: boolean }) {
  const runs = (['baseline', 'new'] as const).flatMap(side => {
    const run = data[side]?.agent_run;
    return run ? [{ side, run }] : [];
  });
  if (runs.length === 0) return null;
  return (
    <Section title={runs.length > 1 ? 'Runs of the agent' : 'Run of the agent'}>
      {runs.map(({ side, run }) => (
        <div class="table-box" role="region" aria-label={`Run of the agent, ${side}`} tabIndex={0} key={side}>
          <table class="numbers told">
            {!isRun && <caption>{side === 'new' ? 'New' : 'Baseline'}</caption>}
            <tbody>
              <tr>
                <th scope="row">Ended as</th>
                <td>{endingText(run)}</td>
              </tr>
              <tr>
                <th scope="row">Violations</th>
                <td>
                  <Lines lines={run.violations.listed.map(violationText)} total={run.violations.total} none="none" />
                </td>
              </tr>
              <tr>
                <th scope="row">Flags</th>
                <td>
                  <Lines
                    lines={run.flags.map(({ flag, message }) => `${flag}: ${message}`)}
                    total={run.flags.length}
                    none="none"
                  />
                </td>
              </tr>
              <tr>
                <th scope="row">Changes</th>
                <td>
                  <Changes changes={run.changes} />
                </td>
              </tr>
              <tr>
                <th scope="row">Evidence</th>
                <td>
                  <code>{run.run_id}</code>
                </td>
              </tr>
            </tbody>
          </table>
        </div>
      ))}
    </Section>
  );
}

function Changes({ changes }: { readonly changes: AgentRunNote['changes'] }) {
  if (!changes) return <span class="muted">not known</span>;
  const { files, added, removed, commits } = changes;
  const lines = files.listed.map(
    ({ path, change, added: more, removed: less }) =>
      `${change} ${path}${more === null || less === null ? '' : ` +${more} −${less}`}`,
  );
  return (
    <>
      {files.total > 0 && (
        <p>
          {count(files.total)} {files.total === 1 ? 'file' : 'files'}
          {added !== null && removed !== null && `, ${count(added)} lines added, ${count(removed)} removed`}
          {commits !== null && commits > 0 && `, ${count(commits)} ${commits === 1 ? 'commit' : 'commits'}`}
        </p>
      )}
      <Lines lines={lines} total={files.total} none="none" />
    </>
  );
}

/** The first of a list, and how many more there are. */
function Lines({
  lines,
  total,
  none,
}: {
  readonly lines: readonly string[];
  readonly total: number;
  readonly none: string;
}) {
  if (total === 0) return <span class="muted">{none}</span>;
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

function endingText({ termination, reason }: AgentRunNote): string {
  return reason === 'ok' ? termination : `${termination} (${reason})`;
}

function violationText({ class: kind, operation, path, hard }: AgentRunNote['violations']['listed'][number]): string {
  return [kind, operation, path, hard ? '(hard)' : undefined].filter(word => word !== undefined).join(' ');
}
