import type pg from 'pg';
import type { Database, Session } from './database.ts';

/** Something happened that others may wait for. A hint: a process that misses it finds out when it polls. */
export type News =
  | { readonly is: 'offered' }
  /** `freed`: an attempt with a limit of slots ended, so another can begin. */
  | { readonly is: 'settled'; readonly freed: boolean }
  | { readonly is: 'withdrawn'; readonly run_id: string };

export async function notify(session: Session, news: News): Promise<void> {
  await session.rows('select pg_notify($1, $2)', notice(news));
}

/** The arguments of `pg_notify`. */
export function notice(news: News): readonly [channel: string, payload: string] {
  return [CHANNEL, JSON.stringify(news)];
}

/** Listens for news on a connection of its own, and connects again whenever it breaks. */
export class NewsReader {
  readonly #database: Database;
  readonly #onNews: (news: News) => void;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(database: Database, onNews: (news: News) => void) {
    this.#database = database;
    this.#onNews = onNews;
  }

  /** Never rejects: without a connection, the queue polls. */
  async start(): Promise<void> {
    if (this.#isClosed) return;
    const client = this.#database.client();
    this.#client = client;
    client.on('error', () => this.#again(client));
    client.on('end', () => this.#again(client));
    client.on('notification', ({ payload }) => {
      const news = newsIn(payload);
      if (news) this.#onNews(news);
    });
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      // News may have been missed meanwhile.
      this.#onNews({ is: 'offered' });
      this.#onNews({ is: 'settled', freed: true });
    } catch {
      this.#again(client);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => undefined);
  }

  #again(client: pg.Client): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = undefined;
    void client.end().catch(() => undefined);
    this.#timer = setTimeout(() => void this.start(), AGAIN_MS);
  }
}

/** Anyone who can connect to the database can send a notification. */
function newsIn(payload: string | undefined): News | undefined {
  try {
    const news = JSON.parse(payload ?? '') as News | null;
    const isKnown = news?.is === 'offered' || news?.is === 'settled';
    return isKnown || (news?.is === 'withdrawn' && typeof news.run_id === 'string') ? news : undefined;
  } catch {
    return undefined;
  }
}

const CHANNEL = 'proctor_queue';
const AGAIN_MS = 1000;
