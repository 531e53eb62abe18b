import { Fault } from '../../base/fault.ts';
import { Database, type Session } from './database.ts';
import { Engine } from './engine.ts';
import { MIGRATIONS } from './migrations.ts';

/** The version of the tables that this release was written for. */
const TABLES_VERSION = MIGRATIONS.length;

export interface Migrated {
  /** 0 if there were no tables. */
  readonly from: number;
  readonly to: number;
}

/** Brings the tables to this release's version. The only code that runs DDL; two at once wait for each other. */
export async function migrateQueue(url: string, openMs?: number): Promise<Migrated> {
  const database = await Database.open(url, openMs);
  try {
    // The outer transaction only holds the lock. pg-boss begins and commits its own.
    return await database.transaction(async () => {
      const migrated = await database.transaction(advance);
      await Engine.migrate(database);
      return migrated;
    }, LOCK);
  } finally {
    await database.close();
  }
}

async function advance(session: Session): Promise<Migrated> {
  const [server] = await session.rows<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  assertServer(server?.version ?? 0);
  await session.rows('create schema if not exists proctor');
  await session.rows(
    'create table if not exists proctor.migration (version integer primary key, at timestamptz not null default now())',
  );
  const from = await versionIn(session);
  if (from > TABLES_VERSION) throw newer(from);
  for (const [index, text] of MIGRATIONS.entries()) {
    if (index < from) continue;
    await session.rows(text);
    await session.rows('insert into proctor.migration (version) values ($1)', [index + 1]);
  }
  return { from, to: TABLES_VERSION };
}

/** Rejects a server that is too old for pg-boss. PostgreSQL 13.4 calls itself 130004. */
export function assertServer(version: number): void {
  if (version >= SERVER_VERSION_MIN) return;
  throw new Fault(
    'queue_version',
    `The queue needs PostgreSQL 13 or newer. This server has version ${Math.floor(version / 10_000)}.`,
  );
}

const SERVER_VERSION_MIN = 130_000;

/**
 * Rejects tables that this release does not know: older ones, and those more than one version newer. The tables of the
 * next version still support this release, so that workers can be upgraded after the server.
 */
export async function assertVersion(session: Session): Promise<void> {
  const version = await versionIn(session);
  if (version < TABLES_VERSION) {
    throw new Fault(
      'queue_version',
      `The tables of the queue have version ${version}, and this release needs version ${TABLES_VERSION}. Run \`proctor queue migrate\` with this release.`,
    );
  }
  if (version > TABLES_VERSION + 1) throw newer(version);
}

function newer(version: number): Fault {
  return new Fault(
    'queue_version',
    `The tables of the queue have version ${version}, and this release supports versions ${TABLES_VERSION} and ${TABLES_VERSION + 1}. Install a newer release of Proctor.`,
  );
}

async function versionIn(session: Session): Promise<number> {
  const [row] = await session.rows<{ version: number }>(
    'select coalesce(max(version), 0) as version from proctor.migration',
  );
  return row?.version ?? 0;
}

/** Any constant will do: all users of the database share its advisory locks. */
const LOCK = `
  set local idle_in_transaction_session_timeout = 0;
  set local lock_timeout = 0;
  select pg_advisory_xact_lock(726563, 1)`;
