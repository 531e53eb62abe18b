import type { ScriptCard, ScriptListing, ScriptRunRow } from '../../../src/publish/views.ts';
import { instant } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { Notice, Refused } from '../notice.tsx';
import { hrefWith } from '../router.ts';
import { useTitle } from '../title.ts';
import { useAnswer } from '../use-answer.ts';
import type { ViewProps } from '../views.tsx';
import { ScriptState } from './script-state.tsx';

export interface ScriptList {
  readonly scripts: readonly ScriptCard[];
  /** Every version, for those who publish. */
  readonly all: readonly ScriptListing[] | null;
}

/** The published scripts that you may run, and your runs. */
export function ScriptsView({ place }: ViewProps) {
  useTitle('Scripts');
  const { value, refusal, again } = useAnswer<ScriptList>('/v1/scripts');
  if (!value) return refusal ? <Refused refusal={refusal} again={again} /> : <p class="live-wait">Loading…</p>;
  const hidden = (value.all ?? []).filter(({ name }) => !value.scripts.some(script => script.name === name));
  return (
    <>
      <div class="live-heading">
        <h1>Scripts</h1>
      </div>
      {value.scripts.length === 0 && hidden.length === 0 && (
        <Notice
          title="No scripts"
          text="Nothing is published for you yet. A runner publishes a folder with proctor publish."
        />
      )}
      <ul class="live-tiles">
        {value.scripts.map(script => (
          <li key={script.name} class="card">
            <h2>
              <a href={`/scripts/${encodeURIComponent(script.name)}`} data-row>
                <Text value={script.title} />
              </a>
            </h2>
            <p class="live-clamp">
              <Text value={script.description} />
            </p>
            <p class="note">
              {script.name} {script.version}
            </p>
          </li>
        ))}
        {hidden.map(({ name, title }) => (
          <li key={name} class="card">
            <h2>
              <a href={`/scripts/${encodeURIComponent(name)}`} data-row>
                <Text value={title ?? name} />
              </a>
            </h2>
            <p class="note">Not offered to end users</p>
          </li>
        ))}
      </ul>
      <YourRuns after={place.query.get('after') ?? ''} more={after => hrefWith(place, { after })} />
    </>
  );
}

interface RunsProps {
  readonly after: string;
  readonly more: (after: string) => string;
}

interface ScriptRunPage {
  readonly runs: readonly ScriptRunRow[];
  readonly next: string | null;
}

function YourRuns({ after, more }: RunsProps) {
  const query = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
  const { value } = useAnswer<ScriptRunPage>(`/v1/script-runs?limit=20${query}`, 5_000);
  if (!value || value.runs.length === 0) return null;
  return (
    <section class="card live-below" aria-labelledby="your-runs">
      <h2 id="your-runs">Your runs</h2>
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Script</th>
            <th scope="col">Ordered</th>
          </tr>
        </thead>
        <tbody>
          {value.runs.map(run => (
            <tr key={run.run_id}>
              <td class="live-state">
                <ScriptState state={run.state} />
              </td>
              <td>
                <a href={`/script-runs/${encodeURIComponent(run.run_id)}`} data-row>
                  <Text value={run.script.title} />
                </a>{' '}
                <span class="muted">{run.script.version}</span>
              </td>
              <td data-label="Ordered">{instant(run.ordered_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <nav class="live-pages" aria-label="Pages of your runs">
        {after !== '' && <a href={more('')}>Newest runs</a>}
        {value.next !== null && <a href={more(value.next)}>Older runs</a>}
      </nav>
    </section>
  );
}
