-- Everything is made in the schema that the store was given. Ids and names are compared by their bytes, as everywhere in Reprise.
-- Times are in milliseconds since 1970 by this server's clock, but for those that a journal says, which are ISO 8601.

-- One narrow row per run: what an append checks and changes. A step changes only seq and hash, which no index has, and half of each
-- page is left free, so that the new row stays beside the old one. A run and the runs that work for it are one unit under the lease
-- of the first of them, the root: token to ready_at are said of roots alone.
create table heads (
  id bigint generated always as identity primary key,
  run text collate "C" not null,
  root text collate "C" not null,
  -- The last entry and its hash, noted with its line, so that a line which somebody took away since is noticed.
  seq bigint not null,
  hash text,
  status text not null,
  -- Messages to this run that somebody has yet to record.
  inbox integer not null default 0,
  -- A lease counts by its token and by the id of its acquisition. Nobody holds a run without an owner.
  token bigint not null default 0,
  lease text,
  expires_at bigint,
  -- When the journal says that the run wants a worker.
  due_at bigint,
  -- Messages to the unit that somebody has yet to record.
  waiting integer not null default 0,
  -- How often the run was claimed since it last got further.
  tries integer not null default 0,
  -- How many holders of the run ended without a release and without progress, and the token of the last of them.
  deaths integer not null default 0,
  died bigint not null default 0,
  -- When it is offered to a worker (src/stores/rules/ready.ts).
  ready_at bigint,
  crew text collate "C" not null,
  version text collate "C" not null,
  format integer not null,
  priority smallint not null,
  owner text collate "C"
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create unique index heads_by_run on heads (run);
create index heads_ready on heads (crew, version, format, priority, ready_at) where ready_at is not null;
-- Few processes hold many runs: from one owner to the next is one step.
create index heads_held on heads (owner) where owner is not null;
-- How many of a crew's runs are held.
create index heads_held_by_crew on heads (crew) where owner is not null;
-- Few runs are suspects, and a claim gives them out one by one.
create index heads_suspect on heads (crew, version, format, priority, ready_at) where deaths > 0 and ready_at is not null;
create index heads_suspect_held on heads (owner) where deaths > 0;

-- Of all acquisitions, so that the lease of a deleted run never counts for a new one of its id.
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
-- Listings come newest first. There is no index without a status: a list that asks for none is merged from one ordered piece per status.
create index listing_by_crew on listing (crew, status, created_at desc, run desc);
create index listing_by_status on listing (status, created_at desc, run desc);
create index listing_by_source on listing (forked_from, created_at desc, run desc) where forked_from is not null;
create index listing_by_root on listing (root);

-- A run's lines, as bytes: text and jsonb refuse some of what a journal may hold, and change the rest.
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
-- They are read whole, and were often compressed before.
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

-- Messages stay when they are taken: an id is unique for ever.
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

-- For people and dashboards: one row per run, without what was said in it. Reprise does not read this view. It shows the listing,
-- which is written when a run's status changes or a task ends, and reads no journal.
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
-- jsonb takes neither NUL nor half a character, which JSON has as escapes
cross join lateral (
  select regexp_replace(summary, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')::jsonb as facts
) summaries;
comment on view runs is 'One row per run. A run that is executing has used more since its last task ended';

-- The oldest code, by the number of the last migration that it knows, that may write this schema.
create table oldest_writer (format integer not null);
insert into oldest_writer (format) values (9);
