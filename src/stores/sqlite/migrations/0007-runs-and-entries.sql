-- One row per run: what a listing shows, and the lease. The lease stays beside the row since each is checked with the other.
-- A run tree is under the lease of its root: token to ready_at are those of roots, and ready_at of a child run is null. An id is
-- never used again: a reader of a run that is deleted meanwhile finds nothing more of it, and no entries of the next run.
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
  -- It only grows. A lease counts by its token and by the id of its acquisition. Without an owner the run is free.
  token integer not null,
  lease text,
  owner text,
  expires_at integer,
  -- When the journal says that the run wants a worker.
  due_at integer,
  -- Messages to the run tree that are not recorded yet.
  waiting integer not null default 0,
  -- How often the run was claimed since it last got further.
  tries integer not null default 0,
  -- How many holders of the run ended without a release and without progress, and the token of the last of them.
  deaths integer not null default 0,
  died integer not null default 0,
  -- When the run is offered to a worker: every write keeps it right, so a claim is a search in an index (src/stores/rules/ready.ts).
  ready_at integer,
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
create index runs_by_source on runs (forked_from, created_at desc, run desc) where forked_from is not null;
-- A run and the runs that work for it.
create index runs_by_root on runs (root);
-- What a claim searches.
create index runs_ready on runs (crew, version, format, priority, ready_at) where ready_at is not null;
-- Few processes hold many runs: from one owner to the next is one step.
create index runs_held on runs (owner) where owner is not null;
-- For crews that limit how many of their runs are held: a claim looks at as many rows as the limit.
create index runs_held_by_crew on runs (crew, expires_at) where owner is not null;
-- Few runs are suspects, and a claim gives them out one by one.
create index runs_suspect on runs (crew, version, format, priority, ready_at) where deaths > 0 and ready_at is not null;
create index runs_suspect_held on runs (owner) where deaths > 0;

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
insert into oldest_writer (format) values (7);
