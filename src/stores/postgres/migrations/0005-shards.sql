-- The stores over which runs are spread, when this one is one of several: a row for each, and one that is this store (self).
-- founder: it was one of them when this store last had no run (src/stores/sharded/join-shards.ts).
create table shards (
  id text collate "C" primary key,
  url text not null,
  self boolean not null,
  founder boolean not null
);

-- Code that knows nothing of this would make runs that exist in another shard.
update oldest_writer set format = 5;
