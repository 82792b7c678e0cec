-- One row per run: what a listing shows, and the lease. The lease stays beside the row since each is checked with the other;
-- token only grows, owner is null when nobody holds the run. An id is never given again: whoever reads a run while it is deleted
-- finds nothing more of it, and not the entries of the run that was made next.
create table runs (
  id integer primary key autoincrement,
  run text not null,
  crew text not null,
  version text not null,
  status text not null,
  created_at text not null,
  updated_at text not null,
  parent text,
  root text not null,
  token integer not null,
  owner text,
  expires_at integer,
  -- The last entry when the row was last written, with its hash: in the same transaction as its line, so that a line which somebody
  -- took away since, or changed, is noticed. Steps in between do not write the row, and so are not noted.
  last_seq integer not null,
  last_hash text,
  -- Last, since they may be long: what an append asks for is found before them.
  inputs text not null,
  summary text not null
);
create unique index runs_by_run on runs (run);
-- Listings come newest first. There is no index without a status: a list that asks for none is merged from one ordered piece per
-- status (listing.ts), so that these two serve every filter, and the latest unfinished run is found past any number of ended ones.
create index runs_by_crew on runs (crew, status, created_at desc, run desc);
create index runs_by_status on runs (status, created_at desc, run desc);
-- The runs that were made from one. Most runs were made from none and are not in it.
create index runs_by_parent on runs (parent, created_at desc, run desc) where parent is not null;
-- A run and the runs that work for it.
create index runs_by_root on runs (root);
-- What a worker may claim: small, since ended runs are not in it.
create index runs_waiting on runs (crew, version, created_at, run) where status in ('queued', 'running', 'suspended');

-- A run's lines. The index finds them and guards the journal: whatever a program gets wrong, no number is there twice.
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

-- completed_at is in milliseconds: the store's clock when the batch was written, unless the run was made elsewhere.
-- Without a rowid: the key is all there is of it, so that one search finds everything.
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

-- Messages stay when they are taken: an id is unique for ever.
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

-- The highest token of any deleted run: a new run of an old id continues after it, so that an old holder stays fenced out.
create table tokens (floor integer not null);
insert into tokens (floor) values (0);

-- The oldest code, by the number of the last migration that it knows, that may write this database.
create table oldest_writer (format integer not null);
insert into oldest_writer (format) values (1);
