import type { Identity } from './identity.ts';
import type { ServerRole } from './roles.ts';

/** The guards of the server, in the order in which they are asked. Each throws a fault that says why it refuses. */
export interface Access {
  /** Refuses a Host that is not this server's, so that another site's name cannot lead here. */
  checkHost(host: string | undefined): void;
  /** Finds out who asks; undefined for a client that has not signed in. Refuses wrong and expired credentials. */
  identify(headers: Headers, address: string): Promise<Identity | undefined>;
  checkRate(who: Identity | undefined, address: string): Promise<void>;
  /** Refuses an act that another site made a browser send. */
  checkOrigin(headers: Headers, who: Identity | undefined): void;
  /** Notes an act before it happens, because an act that cannot be noted must not happen. */
  beginAct(act: Act, who: Identity | undefined, path: string): Promise<NotedAct>;
  noteRefusal(act: Act, who: Identity | undefined, refusal: NotedRefusal, correlationId: string): Promise<void>;
}

/** What is done, as the audit log names it. */
interface Act {
  readonly name: string;
  readonly role: ServerRole | 'anyone';
}

interface NotedAct {
  end(outcome: string): Promise<void>;
}

interface NotedRefusal {
  readonly status: number;
  readonly code: string;
}
