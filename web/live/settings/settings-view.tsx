import { useTitle } from '../title.ts';
import { AuditCard } from './audit.tsx';
import { TokensCard } from './tokens.tsx';
import type { ViewProps } from '../views.tsx';

/** Who may use the server, and what was done on it. */
export function SettingsView({ place }: ViewProps) {
  useTitle('Settings');
  return (
    <>
      <div class="live-heading">
        <h1>Settings</h1>
      </div>
      <div class="live-cards">
        <TokensCard />
        <RolesCard />
        <AuditCard place={place} />
      </div>
    </>
  );
}

const ROLES = [
  ['user', 'runs published scripts, and sees only its own runs of them'],
  ['viewer', 'also reads all runs, comparisons and histories, but no internal logs'],
  ['runner', 'also starts, cancels and resumes runs, and publishes scripts'],
  ['admin', 'also manages tokens, reads logs and the audit log, and withdraws scripts'],
  ['worker', 'stands apart: makes attempts from the queue, and opens no page'],
] as const;

function RolesCard() {
  return (
    <section class="card" aria-labelledby="roles">
      <h2 id="roles">Roles</h2>
      <dl class="live-facts">
        {ROLES.map(([role, may]) => (
          <div key={role}>
            <dt>
              <span class="tag">{role}</span>
            </dt>
            <dd>{may}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
