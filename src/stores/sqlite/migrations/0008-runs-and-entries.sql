-- One row per run: the listing row and the lease, which are checked together. The lease of a root covers its run tree:
-- the columns from token to ready_at are used by roots only, and ready_at of a child run is null. The ids of rows are
-- never reused: if a run is deleted while it is read, the reader finds no entries of a later run.
create table runs (
  id integer primary key autoincrement,
  run text not null,
  crew text not null,
  version text not null,
  format integer not null,
  priority integer not null,
  status text not null,
  created_at text not null,
  updated_at text not null,
  forked_from text,
  root text not null,
  -- Only grows. A lease is identified by its token and the id of its acquisition. A run without an owner is free.
  token integer not null,
  lease text,
  owner text,
  expires_at integer,
  -- When the journal next needs a worker.
  due_at integer,
  -- Number of unrecorded messages to the run tree.
  waiting integer not null default 0,
  -- Number of claims since the last progress.
  tries integer not null default 0,
  -- Number of holders since the last progress that ended without a release, and the token of the last of them.
  deaths integer not null default 0,
  death_token integer not null default 0,
  -- When the run is offered to a worker (src/stores/rules/ready.ts). Every write recomputes it, so a claim is a search
  -- in an index.
  ready_at integer,
  -- The last entry when the row was last written, and its hash: they show whether the line was removed or changed
  -- later. Plain steps don't write the row, so they are not noted.
  last_seq integer not null,
  last_hash text,
  -- Last, since they may be long, and an append reads only columns before them.
  inputs text not null,
  summary text not null
);
create unique index runs_by_run on runs (run);
-- Listings are newest first. There is no index without a status, since a listing of all statuses merges one ordered
-- query per status (listing.ts). These two serve every filter, and skip any number of ended runs.
create index runs_by_crew on runs (crew, status, created_at desc, run desc);
create index runs_by_status on runs (status, created_at desc, run desc);
-- The forks of a run. Most runs aren't forks, and are not in this index.
create index runs_by_source on runs (forked_from, created_at desc, run desc) where forked_from is not null;
-- The runs of a tree.
create index runs_by_root on runs (root);
-- Searched by claims.
create index runs_ready on runs (crew, version, format, priority, ready_at) where ready_at is not null;
-- Few processes hold many runs: one search finds the next owner.
create index runs_held on runs (owner) where owner is not null;
-- For crew limits: a claim reads at most as many rows as the limit.
create index runs_held_by_crew on runs (crew, expires_at) where owner is not null;
-- Few runs are suspects, and a claim takes at most one.
create index runs_suspect on runs (crew, version, format, priority, ready_at) where deaths > 0 and ready_at is not null;
create index runs_suspect_held on runs (owner) where deaths > 0;

-- The lines of a run. The index finds them, and guarantees that no number is used twice.
create table entries (
  id integer primary key,
  run_id integer not null references runs (id) on delete cascade,
  seq integer not null,
  line blob not null
);
create unique index entries_by_seq on entries (run_id, seq);

create table blobs (
  id integer primary key,
  run_id integer not null references runs (id) on delete cascade,
  hash text not null,
  bytes blob not null
);
create unique index blobs_by_hash on blobs (run_id, hash);

-- completed_at is in milliseconds: the store's clock when the batch was written, unless the run was imported.
-- Without rowid: the key contains all columns, so one search finds everything.
create table outputs (
  crew text not null,
  task text not null,
  fingerprint text not null,
  completed_at integer not null,
  run_id integer not null references runs (id) on delete cascade,
  seq integer not null,
  primary key (crew, task, fingerprint, completed_at, run_id, seq)
) without rowid;
create index outputs_by_run on outputs (run_id);

-- Taken messages stay, since ids are unique forever.
create table messages (
  id integer primary key,
  run_id integer not null references runs (id) on delete cascade,
  message text not null,
  at text not null,
  body text not null,
  taken integer not null default 0
);
create unique index messages_by_id on messages (run_id, message);
create index messages_waiting on messages (run_id) where taken = 0;

-- The highest token of any deleted run. New runs continue from it, so that holders of deleted runs stay fenced out.
create table tokens (floor integer not null);
insert into tokens (floor) values (0);

-- The oldest code that may write this database, by the number of the last migration that it knows.
create table oldest_writer (format integer not null);
insert into oldest_writer (format) values (8);
