-- How many holders of a run ended without a release and without progress, and the lease that the last of them had (src/stores/rules/ready.ts).
alter table runs add column deaths integer not null default 0;
alter table runs add column died integer not null default 0;

-- There are few of them, and a claim gives them out one by one.
create index runs_suspect on runs (crew, version, format, priority, ready_at) where deaths > 0 and ready_at is not null;
create index runs_suspect_held on runs (owner) where deaths > 0;

-- Code that knows nothing of this would not count them.
update oldest_writer set format = 5;
