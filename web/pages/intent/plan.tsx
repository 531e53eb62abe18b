import type { IntentPageData } from '../../../src/reports/pages/intent-page.ts';
import type { CommandState } from '../../../src/reports/pages/intent-plan.ts';
import type { RowKind } from '../../../src/reports/page-data.ts';
import { plural } from '../../shared/format.ts';
import { Mark } from '../../shared/marks.tsx';
import { amount } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';
import { Rest, LinkedCard } from '../run/card.tsx';
import { Files } from '../run/files.tsx';

type Planned = NonNullable<IntentPageData['plan']>;

/** The checks that decide whether the run is accepted, failed ones first. */
export function Checks({ checks, hasRun }: { readonly checks: IntentPageData['checks']; readonly hasRun: boolean }) {
  const failed = checks.shown.filter(({ held }) => held === false).length;
  const note = hasRun ? (failed === 0 ? 'all passed' : `${failed} failed`) : 'not made, because nothing ran';
  return (
    <LinkedCard id="checks" title="Checks" note={note}>
      <ul class="checks">
        {checks.shown.map(({ check, path, expects, held, message }, index) => (
          <li key={index}>
            <Mark kind={held === null ? 'missing' : held ? 'pass' : 'fail'} />
            <div>
              <p>
                <strong>{held === null ? 'Not made' : held ? 'Passed' : 'Failed'}</strong> <code>{check}</code>
                {path !== null && (
                  <code>
                    {' '}
                    <Text value={path} />
                  </code>
                )}
              </p>
              {message !== null && (
                <p>
                  <Text value={message} />
                </p>
              )}
              {expects !== null && (
                <p class="muted">
                  expects{' '}
                  <code>
                    <Text value={expects} />
                  </code>
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
      <Rest list={checks} what="checks" />
    </LinkedCard>
  );
}

/** The exact plan: files to create, commands in order, outputs to keep. */
export function Plan({ plan }: { readonly plan: Planned }) {
  const { is_complete, id, files, commands, outputs } = plan;
  return (
    <LinkedCard id="plan" title="Plan" note={is_complete ? 'complete' : 'incomplete'}>
      <p class="note">
        <code>{id}</code>
      </p>
      <h3>{commands.total === 0 ? 'No commands' : plural(commands.total, 'command')}</h3>
      <ol class="steps-list">
        {commands.shown.map(({ argv, state }, index) => (
          <li key={index}>
            <Mark kind={STATES[state]} />
            <div>
              <pre class="run-command" tabIndex={0}>
                <Text value={argv.map(wordText).join(' ')} />
              </pre>
              <p class="muted">{state}</p>
            </div>
          </li>
        ))}
      </ol>
      <Rest list={commands} what="commands" />
      {files.total > 0 && (
        <>
          <h3>{plural(files.total, 'file')} to create first</h3>
          <Files files={files} label="Files to create first" />
        </>
      )}
      {outputs.total > 0 && (
        <>
          <h3>{plural(outputs.total, 'output')} to keep</h3>
          <p class="run-words">
            {outputs.shown.map(path => (
              <code key={path}>
                <Text value={path} />
              </code>
            ))}
          </p>
          <Rest list={outputs} what="outputs" />
        </>
      )}
    </LinkedCard>
  );
}

const STATES: Readonly<Record<CommandState, RowKind>> = {
  'ended with 0': 'pass',
  failed: 'fail',
  'not run': 'missing',
  unknown: 'error',
};

/** A word of a command, in quotes if its end would not be visible. */
const wordText = (word: string): string => (/^[^\s'"]+$/.test(word) ? word : JSON.stringify(word));

/** What the intent asks for, what the profile allows, and what the plan uses. */
export function Bounds({
  plan,
  constraints,
}: {
  readonly plan: Planned;
  readonly constraints: IntentPageData['constraints'];
}) {
  return (
    <LinkedCard id="bounds" title="Limits and constraints">
      <div class="table-box" role="region" aria-label="Bounds of the plan" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Limit</th>
              <th scope="col">Requested</th>
              <th scope="col">Profile</th>
              <th scope="col">Plan</th>
            </tr>
          </thead>
          <tbody>
            {plan.bounds.map(({ name, unit, asked, allowed, planned }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {[asked, allowed, planned].map((value, index) => (
                  <td key={index}>
                    {typeof value === 'number' && unit !== 'text' ? (
                      amount(value, unit)
                    ) : (
                      <Text value={`${value ?? (index === 0 ? 'default' : 'unknown')}`} />
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {constraints.total > 0 && (
        <>
          <h3>{plural(constraints.total, 'constraint')}</h3>
          <ul class="plain">
            {constraints.shown.map((text, index) => (
              <li key={index}>
                <Text value={text} />
              </li>
            ))}
          </ul>
          <Rest list={constraints} what="constraints" />
          <p class="note">
            Proctor checks constraints on limits and network access, and contradictions between constraints. It does not
            check the rest.
          </p>
        </>
      )}
    </LinkedCard>
  );
}
