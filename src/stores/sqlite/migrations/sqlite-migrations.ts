// Generated from the .sql files beside it by scripts/embed-texts.ts: change those, and run it again.
import type { Migration } from '../../rules/migration.ts'

export const migrations: readonly Migration[] = [
  {
    number: 1,
    name: '0001-runs-and-entries',
    checksum: '7e3cdb398220c2d9fdf459efbd1176d40df19bab57961b784a6d5abf5f911462',
    sql: `-- One row per run: what a listing shows, and the lease. The lease stays beside the row since each is checked with the other;
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
`,
  },
  {
    number: 2,
    name: '0002-ready',
    checksum: 'e6353d91509af5f502c8821b65a649d8968edc5bb39c07fc13174a47c582a6d5',
    sql: `-- When a run is offered to a worker: a column that every write keeps right, so that a claim is a search in an index (rules/ready.ts).
-- A run and the runs that work for it are one unit under the lease of the first of them, the root: what is said here of leases,
-- messages and tries is said of roots, and ready_at of any other run is null.
alter table runs add column format integer not null default 1;
alter table runs add column priority integer not null default 0;
-- The id of the acquisition: a lease counts by its token and by this.
alter table runs add column lease text;
-- When its journal says that it wants a worker.
alter table runs add column due_at integer;
-- Messages to the unit that nobody has recorded.
alter table runs add column waiting integer not null default 0;
-- How often it was claimed since it last got further.
alter table runs add column tries integer not null default 0;
alter table runs add column ready_at integer;

-- Last again, since they may be long: what an append asks for is found before them.
alter table runs add column listed_inputs text not null default '';
alter table runs add column listed_summary text not null default '';
update runs set listed_inputs = inputs, listed_summary = summary;
alter table runs drop column inputs;
alter table runs drop column summary;
alter table runs rename column listed_inputs to inputs;
alter table runs rename column listed_summary to summary;

-- Runs that work for others have no leases of their own any more.
update runs set owner = null, expires_at = null where root <> run;
-- What was under way, or waited for a worker, is due.
update runs set due_at = cast(unixepoch('subsec') * 1000 as integer) where root = run and status in ('queued', 'running');
update runs set waiting = (
  select count(*) from messages join runs each on each.id = messages.run_id where each.root = runs.run and messages.taken = 0
) where root = run;
update runs set ready_at = max(coalesce(due_at, cast(unixepoch('subsec') * 1000 as integer)), coalesce(expires_at, 0))
  where root = run and status not in ('completed', 'cancelled') and (due_at is not null or waiting > 0);

drop index runs_waiting;
create index runs_ready on runs (crew, version, format, priority, ready_at) where ready_at is not null;
-- Few processes hold many runs: from one owner to the next is one step.
create index runs_held on runs (owner) where owner is not null;

-- Code that knows nothing of this would leave runs to nobody.
update oldest_writer set format = 2;
`,
  },
  {
    number: 3,
    name: '0003-held-by-crew',
    checksum: 'c6ca1bf32990a859d5654f6cb6f707c975db677cd90e080544374090de293453',
    sql: `-- How many runs of a crew are held, for crews that limit that: as many as the limit are looked at, however many there are.
create index runs_held_by_crew on runs (crew, expires_at) where owner is not null;
`,
  },
  {
    number: 4,
    name: '0004-shards',
    checksum: '243fcfa7ebb0bcb470a9e499879a3093a32035a9a0af705d7b82718face48ee6',
    sql: `-- The stores over which runs are spread, when this one is one of several: a row for each, and one that is this store (self = 1).
-- founder: it was one of them when this store last had no run (src/stores/sharded/join-shards.ts).
create table shards (
  id text primary key,
  url text not null,
  self integer not null,
  founder integer not null
) without rowid;

-- Code that knows nothing of this would make runs that exist in another shard.
update oldest_writer set format = 4;
`,
  },
  {
    number: 5,
    name: '0005-deaths',
    checksum: 'bf6e59c38e98a904c5c55f2b753fcab48004c62cb5806821cdd0b67e7e6f348d',
    sql: `-- How many holders of a run ended without a release and without progress, and the lease that the last of them had (src/stores/rules/ready.ts).
alter table runs add column deaths integer not null default 0;
alter table runs add column died integer not null default 0;

-- There are few of them, and a claim gives them out one by one.
create index runs_suspect on runs (crew, version, format, priority, ready_at) where deaths > 0 and ready_at is not null;
create index runs_suspect_held on runs (owner) where deaths > 0;

-- Code that knows nothing of this would not count them.
update oldest_writer set format = 5;
`,
  },
]
