-- How many holders of a run ended without a release and without progress, and the token of the last of them (src/stores/rules/ready.ts).
alter table heads add column deaths integer not null default 0;
alter table heads add column died bigint not null default 0;

-- There are few of them, and a claim gives them out one by one.
create index heads_suspect on heads (crew, version, format, priority, ready_at) where deaths > 0 and ready_at is not null;
create index heads_suspect_held on heads (owner) where deaths > 0;

-- Code that knows nothing of this would not count them.
update oldest_writer set format = 7;
