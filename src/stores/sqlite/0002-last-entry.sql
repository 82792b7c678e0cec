-- The last entry when the row was last written, with its hash: in the same transaction as its line, so that a line which somebody took
-- away since, or changed, is noticed. Steps in between do not write the row, and so are not noted.
alter table runs add column last_seq integer not null default 0;
alter table runs add column last_hash text;
