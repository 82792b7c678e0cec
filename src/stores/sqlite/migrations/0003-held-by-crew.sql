-- How many runs of a crew are held, for crews that limit that: as many as the limit are looked at, however many there are.
create index runs_held_by_crew on runs (crew, expires_at) where owner is not null;
