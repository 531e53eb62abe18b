import { instant } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { Refused } from '../notice.tsx';
import { hrefWith, type Place } from '../router.ts';
import { useAnswer } from '../use-answer.ts';

interface Entry {
  readonly sequence: number;
  readonly at: string;
  readonly who: string | null;
  readonly name: string | null;
  readonly role: string | null;
  readonly verb: string;
  readonly thing: string | null;
  readonly outcome: string | null;
  readonly code: string | null;
}

interface AuditPage {
  readonly entries: readonly Entry[];
  readonly next: number | null;
}

/** What was done on this server, newest first. */
export function AuditCard({ place }: { readonly place: Place }) {
  const before = place.query.get('before') ?? '';
  const { value, refusal, again } = useAnswer<AuditPage>(`/v1/audit?limit=50${before && `&before=${before}`}`);
  return (
    <section class="card" aria-labelledby="audit">
      <h2 id="audit">Audit log</h2>
      {refusal && <Refused refusal={refusal} again={again} />}
      {value?.entries.length === 0 && <p class="note">Nothing was done yet.</p>}
      {value && value.entries.length > 0 && (
        <table class="stacked">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">Did</th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {value.entries.map(entry => (
              <tr key={entry.sequence}>
                <td data-label="When">{instant(entry.at)}</td>
                <td data-label="Who">
                  <span>
                    <Text value={entry.name ?? entry.who ?? 'not signed in'} />{' '}
                    {entry.role !== null && <span class="tag">{entry.role}</span>}
                  </span>
                </td>
                <td data-label="Did">
                  <span>
                    <Text value={verbWords(entry.verb)} />{' '}
                    {entry.thing !== null && (
                      <code>
                        <Text value={entry.thing} />
                      </code>
                    )}
                  </span>
                </td>
                <td data-label="Outcome">
                  <Text
                    value={[entry.outcome ?? 'running', (entry.code ?? '').replaceAll('_', ' ')]
                      .filter(Boolean)
                      .join(': ')}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <nav class="live-pages" aria-label="Pages of the audit log">
        {before !== '' && <a href={hrefWith(place, { before: '' })}>Newest entries</a>}
        {value && value.next !== null && <a href={hrefWith(place, { before: String(value.next) })}>Older entries</a>}
      </nav>
    </section>
  );
}

/** What the routes that change something do. The log has the name of the route. */
const VERBS: Readonly<Record<string, string>> = {
  signIn: 'sign in',
  newToken: 'create a token',
  revokeToken: 'revoke a token',
  startSuite: 'order a suite',
  startIntent: 'order an intent',
  answer: 'answer questions',
  cancelRun: 'cancel a run',
  resumeRun: 'resume a run',
  makeComparison: 'compare runs',
  runPublished: 'run a script',
  cancelScriptRun: 'stop a script',
  publishScript: 'publish a script',
  offerVersion: 'offer a version',
  withdrawVersion: 'withdraw a version',
  rollBackScript: 'roll back a script',
  verifyUpload: 'verify a file',
};

/** The name of another route in words, such as `list runs`. */
const verbWords = (verb: string): string => VERBS[verb] ?? verb.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
