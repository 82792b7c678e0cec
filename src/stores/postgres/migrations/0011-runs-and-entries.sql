-- Created in the store's schema. Ids and names are compared by their bytes, as everywhere in Reprise. Times are in
-- milliseconds since 1970 by this server's clock, except times from a journal, which are ISO 8601.

-- One narrow row per run: what an append checks and changes. A step changes only seq and hash, which are in no index,
-- and half of each page is left free, so that updates stay on the page (HOT). The lease of a root covers its run tree:
-- the columns from token to ready_at are used by roots only.
create table heads (
  id bigint generated always as identity primary key,
  run text collate "C" not null,
  root text collate "C" not null,
  -- The last entry and its hash: they show whether lines were removed later.
  seq bigint not null,
  hash text,
  status text not null,
  -- Number of unrecorded messages to this run.
  inbox integer not null default 0,
  -- A lease is identified by its token and the id of its acquisition. A run without an owner is not held.
  token bigint not null default 0,
  lease text,
  expires_at bigint,
  -- When the journal next needs a worker.
  due_at bigint,
  -- Number of unrecorded messages to the tree.
  waiting integer not null default 0,
  -- Number of claims since the last progress.
  tries integer not null default 0,
  -- Number of holders since the last progress that ended without a release, and the token of the last of them.
  deaths integer not null default 0,
  death_token bigint not null default 0,
  -- When the run is offered to a worker (src/stores/rules/ready.ts).
  ready_at bigint,
  crew text collate "C" not null,
  version text collate "C" not null,
  format integer not null,
  priority smallint not null,
  owner text collate "C"
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create unique index heads_by_run on heads (run);
create index heads_ready on heads (crew, version, format, priority, ready_at) where ready_at is not null;
-- Claims skip from owner to owner: few processes hold many runs.
create index heads_held on heads (owner) where owner is not null;
-- Counts the held runs of a crew.
create index heads_held_by_crew on heads (crew) where owner is not null;
-- Few runs are suspects, and a claim takes at most one.
create index heads_suspect on heads (crew, version, format, priority, ready_at) where deaths > 0 and ready_at is not null;
create index heads_suspect_held on heads (owner) where deaths > 0;

-- Shared by all runs: the lease of a deleted run is never valid for a new run of the same id.
create sequence tokens;

-- What a listing shows.
create table listing (
  id bigint primary key,
  run text collate "C" not null,
  root text collate "C" not null,
  crew text collate "C" not null,
  version text collate "C" not null,
  format integer not null,
  priority smallint not null,
  status text collate "C" not null,
  created_at text collate "C" not null,
  updated_at text collate "C" not null,
  forked_from text collate "C",
  inputs text not null,
  summary text not null
) with (fillfactor = 70);
-- Listings are newest first. There is no index without a status, since a listing of all statuses merges one ordered
-- query per status (listing.ts).
create index listing_by_crew on listing (crew, status, created_at desc, run desc);
create index listing_by_status on listing (status, created_at desc, run desc);
create index listing_by_source on listing (forked_from, created_at desc, run desc) where forked_from is not null;
create index listing_by_root on listing (root);

-- The lines of a run, as bytes: text and jsonb would refuse some lines and change others.
create table entries (
  run_id bigint not null,
  seq bigint not null,
  line bytea not null,
  primary key (run_id, seq)
);

create table blobs (
  run_id bigint not null,
  hash text collate "C" not null,
  bytes bytea not null,
  primary key (run_id, hash)
);
-- Blobs are read whole, and are often compressed already.
alter table blobs alter column bytes set storage external;

create table outputs (
  crew text collate "C" not null,
  task text collate "C" not null,
  fingerprint text collate "C" not null,
  completed_at bigint not null,
  run_id bigint not null,
  seq bigint not null,
  primary key (crew, task, fingerprint, completed_at, run_id, seq)
);
create index outputs_by_run on outputs (run_id);

-- Taken messages stay, since ids are unique forever.
create table messages (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  message text collate "C" not null,
  at text not null,
  body text not null,
  taken boolean not null default false
);
create unique index messages_by_id on messages (run_id, message);
create index messages_waiting on messages (run_id, id) where not taken;

-- For people and dashboards: one row per run, without its contents. Reprise doesn't read this view. It shows the
-- listing, which is written when the status of a run changes or a task ends, and doesn't read journals.
create view runs as
select
  run as run_id,
  crew,
  version,
  status,
  root as root_id,
  forked_from,
  priority,
  created_at::timestamptz as created_at,
  updated_at::timestamptz as updated_at,
  (facts -> 'done')::int as done,
  (facts -> 'total')::int as total,
  (facts -> 'questions')::int as open_questions,
  facts #>> '{suspended,reason}' as suspended_reason,
  facts #>> '{error,code}' as error_code,
  facts #>> '{error,task}' as error_task,
  (facts ->> 'dueAt')::timestamptz as due_at,
  (facts #> '{usage,calls}')::int8 as calls,
  (facts #> '{usage,input}')::int8 as input_tokens,
  (facts #> '{usage,output}')::int8 as output_tokens
from listing
-- jsonb refuses NUL and lone surrogates, which JSON may contain as escapes
cross join lateral (
  select regexp_replace(summary, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')::jsonb as facts
) summaries;
comment on view runs is 'One row per run. A run that is executing has used more since its last task ended';

-- The oldest code that may write this schema, by the number of its last migration.
create table oldest_writer (format integer not null);
insert into oldest_writer (format) values (11);
