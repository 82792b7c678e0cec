-- When a run is offered to a worker: a column that every write keeps right, so that a claim is a search in an index (rules/ready.ts).
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
