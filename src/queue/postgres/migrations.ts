/**
 * The tables of the queue, one text per version. Forward only: a new version first widens the tables, and narrows them
 * one version later, so that the release before still works on them.
 */
export const MIGRATIONS: readonly string[] = [
  `
  -- When a run was last offered and sealed: its other rows are removed 7 days after the seal.
  create table proctor.run (
    run_id text primary key,
    offered_at timestamptz not null default now(),
    sealed_at timestamptz
  );
  -- An attempt begins at most once, because its key is the primary key. Only inserted into, except when handed back.
  create table proctor.begun (
    key text primary key,
    run_id text not null,
    worker text not null,
    claim uuid not null default gen_random_uuid(),
    queue text not null,
    job uuid not null,
    at timestamptz not null default now()
  );
  create index begun_run on proctor.begun (run_id);
  create table proctor.outcome (
    key text primary key,
    run_id text not null,
    worker text not null,
    state text not null check (state in ('reported', 'handed_back', 'lost', 'withdrawn')),
    -- The attempt-outcome.v1 document, or why the attempt was handed back.
    body text not null check (octet_length(body) <= 65536),
    begun_at timestamptz not null,
    at timestamptz not null default now()
  );
  create index outcome_run on proctor.outcome (run_id);
  create index outcome_lost on proctor.outcome (at) where state = 'lost';
  -- Workers that asked for work, for \`proctor queue show\`.
  create table proctor.worker (
    worker text primary key,
    needs text[] not null,
    slots integer not null,
    version text not null,
    seen_at timestamptz not null default now()
  );
  `,
  `
  -- Which versions of requests a worker reads. Workers of the release before do not write it, and read version 1.
  alter table proctor.worker add column protocols integer[] not null default '{1}';
  `,
  `
  -- Which scripts a worker runs. Null if the queue does not look at them, as for workers of the release before.
  alter table proctor.worker add column scripts jsonb;
  `,
];
