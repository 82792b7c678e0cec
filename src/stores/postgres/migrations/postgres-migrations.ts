// Generated from the .sql files beside it by scripts/embed-texts.ts: change those, and run it again.
import type { Migration } from '../../rules/migration.ts'

export const migrations: readonly Migration[] = [
  {
    number: 1,
    name: '0001-runs-and-entries',
    checksum: '4905acc5824a7ab609e78940dfd896f084bf364e4efe07cb8b222d5791a91ffa',
    sql: `-- Everything is made in the schema that the store was given. Ids and names are compared by their bytes, as everywhere in Reprise.
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
  parent text collate "C",
  inputs text not null,
  summary text not null
) with (fillfactor = 70);
-- Listings come newest first. There is no index without a status: a list that asks for none is merged from one ordered piece per status.
create index listing_by_crew on listing (crew, status, created_at desc, run desc);
create index listing_by_status on listing (status, created_at desc, run desc);
create index listing_by_parent on listing (parent, created_at desc, run desc) where parent is not null;
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

-- The oldest code, by the number of the last migration that it knows, that may write this schema.
create table oldest_writer (format integer not null);
insert into oldest_writer (format) values (1);
`,
  },
  {
    number: 2,
    name: '0002-run-views',
    checksum: 'db6642082dbe47348f060e459d5b98a795f6b34fb3586eb2639e68d571a875df',
    sql: `-- For people and their dashboards: the views runs and cost_by_day, the prices that costs are made from, and what tasks and steps
-- (in the next files) are read with. They say what lists of runs and views of one say, in the same words. Reprise
-- itself reads none of them.
--
-- One run is found by its key, and only its own entries are read. A list of runs, and cost_by_day, are made from the rows of the
-- listing; entries are read only of runs that are running, after the last one that the row covers. What cannot be read is null, and
-- fails nothing. \`offset 0\` keeps the planner from computing the value above it once for each place where it is used. What is
-- looked up for few runs is in functions: with it in the views, the planner would expect so much of a list that it compiles it.
--
-- Who may read a view may read what it shows. So the functions that give no more than ids and counts do that by the rights of
-- their owner; those that give contents ask for the right to read entries and blobs.

-- In US dollars per million tokens. Cached input without a price of its own costs what other input costs. Nothing fills this table by
-- itself: the price of a model that has none here is not known, and neither is what it has cost.
create table prices (
  -- As the views name it: openai/gpt-5-mini.
  model text collate "C" not null,
  -- The price counts from this day on (in UTC), until there is a newer one.
  since date not null default '-infinity',
  input numeric not null check (input >= 0),
  output numeric not null check (output >= 0),
  cache_read numeric check (cache_read >= 0),
  cache_write numeric check (cache_write >= 0),
  primary key (model, since)
);

-- jsonb takes neither NUL nor half of a character. A journal holds both as escapes, for which U+FFFD stands here.
create function readable(stored bytea) returns jsonb language plpgsql immutable strict as $$
begin
  return convert_from(stored, 'UTF8')::jsonb;
exception when others then
  begin
    return regexp_replace(
      convert_from(stored, 'UTF8'), '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|d[89a-f][0-9a-f]{2})', '\\1\\\\ufffd', 'gi'
    )::jsonb;
  exception when others then
    return null;
  end;
end $$;

create function readable(stored text) returns jsonb language sql immutable
return readable(convert_to(stored, 'UTF8'));

-- A time in ISO 8601.
create function moment(stored text) returns timestamptz language plpgsql stable strict as $$
begin
  return stored::timestamptz;
exception when others then
  return null;
end $$;

create function count_of(value jsonb) returns bigint language sql immutable
return case when jsonb_typeof(value) = 'number' then
  case when abs(value::numeric) < 1e18 then value::numeric::bigint end
end;

-- The task at the root of a path: note of note#2/3.0.
create function task_of(path text) returns text language sql immutable
return regexp_replace(split_part(path, '/', 1), '#[^#]*$', '');

-- The members of a list. For those of an array, things are looked up by their key; of a function, a thousand rows are expected.
create function members_of(list jsonb) returns jsonb[] language plpgsql immutable as $$
begin
  return array(select jsonb_path_query(list, '$[*]'));
end $$;

-- What a model call took, and what its failed tries took: usages.
create function usages_in(entry jsonb) returns jsonb[] language plpgsql immutable as $$
begin
  return array(
    select jsonb_path_query(entry, '$.usage') union all select jsonb_path_query(entry, '$.tries[*].usage')
  );
end $$;

create function price_of(name text, day date) returns prices
language plpgsql stable security definer set search_path from current as $$
declare
  found prices;
begin
  select * into found from prices where model = name and since <= day order by since desc limit 1;
  return found;
end $$;

-- Dollars for what one model used; null when that was not counted, or has no price. Tokens that are null were not reported.
create function cost_of(calls bigint, input bigint, output bigint, cache_read bigint, cache_write bigint, price prices)
returns numeric language plpgsql immutable as $$
begin
  cache_read := coalesce(cache_read, 0);
  cache_write := coalesce(cache_write, 0);
  if price.input + price.output + coalesce(price.cache_read, 0) + coalesce(price.cache_write, 0) = 0 then
    return 0;
  elsif calls > 0 and input + output = 0 or cache_read + cache_write > input then
    return null;
  end if;
  return trim_scale(0.000001 * (
    (input - cache_read - cache_write) * price.input + output * price.output
    + cache_read * coalesce(price.cache_read, price.input) + cache_write * coalesce(price.cache_write, price.input)
  ));
end $$;

-- Values that are stored apart from the line that refers to them are put back; names that only look like such a reference have one
-- more \`$\` until then.
create function whole(id bigint, value jsonb) returns jsonb language plpgsql stable set search_path from current as $$
begin
  if value::text !~ '"\\$+blob"' then
    return value;
  elsif jsonb_typeof(value) = 'array' then
    return (
      select jsonb_agg(whole(id, item) order by place)
      from jsonb_array_elements(value) with ordinality as items (item, place)
    );
  elsif jsonb_typeof(value) <> 'object' then
    return value;
  elsif jsonb_typeof(value -> '$blob') = 'string' then
    return (select whole(id, readable(bytes)) from blobs where run_id = id and hash = value ->> '$blob');
  else
    return (
      select jsonb_object_agg(regexp_replace(name, '^\\$(\\$+blob)$', '\\1'), whole(id, item))
      from jsonb_each(value) as members (name, item)
    );
  end if;
end $$;

-- An entry with all of its values, but for the request of an attempt: that is large, and says again what other entries say.
create function entry_of(id bigint, line bytea) returns jsonb language plpgsql stable set search_path from current as $$
declare
  entry jsonb := readable(line);
begin
  if position('$blob"'::bytea in line) = 0 then
    return entry;
  end if;
  return whole(id, entry - 'request') || jsonb_strip_nulls(jsonb_build_object('request', entry -> 'request'));
end $$;

-- The text of a reply, without its reasoning. One that is only a picture says what it is.
create function reply_text(parts jsonb) returns text language sql immutable
return (
  select case when said ~ '\\S' or made is null then coalesce(said, '') else made end
  from (
    select
      string_agg(part ->> 'text', '' order by place) filter (where part ->> 'type' = 'text') as said,
      string_agg('[file ' || (part ->> 'mediaType') || ']', E'\\n' order by place)
        filter (where part ->> 'type' = 'file' and part -> 'thought' is null) as made
    from jsonb_path_query(parts, '$[*]') with ordinality as items (part, place)
  ) texts
);

-- Inputs as they were given: a member of the user's own that looks like a file has one more \`$\` until then. Those that are too
-- large for a listing are in the journal. Wherever they are, they are contents.
create function inputs_of(id bigint, listed text) returns jsonb language plpgsql stable set search_path from current as $$
declare
  inputs jsonb := readable(listed);
begin
  perform from entries limit 0; -- asks for the right to read them
  if listed = '' then
    inputs := (select entry_of(id, line) -> 'inputs' from entries where run_id = id and seq = 1);
  end if;
  return regexp_replace(inputs::text, '(?<!\\\\)"\\$(\\$+file)":', '"\\1":', 'g')::jsonb;
end $$;

create function last_entry_at(id bigint) returns timestamptz
language plpgsql stable security definer set search_path from current as $$
begin
  return (select moment(readable(line) ->> 'at') from entries where run_id = id order by seq desc limit 1);
end $$;

-- How many questions of a run are open, with those of the runs of its tasks. \`said\` is what its row says.
create function questions_of(run text, said jsonb) returns bigint
language plpgsql stable security definer set search_path from current as $$
declare
  questions bigint := coalesce(count_of(said -> 'questions'), 0);
  attempt jsonb;
  child record;
begin
  foreach attempt in array members_of(coalesce(said -> 'open', said -> 'children')) loop
    select h.run, l.status, l.summary into child
    from heads h join listing l on l.id = h.id
    where h.run = questions_of.run || '/' || (attempt #>> '{}');
    if child.status not in ('completed', 'cancelled') then
      questions := questions + questions_of(child.run, readable(child.summary));
    end if;
  end loop;
  return questions;
end $$;

-- The model that an attempt asks. Lines begin with number, time, type and path: the others need not be read.
create function model_of(id bigint, attempt text) returns text
language plpgsql stable security definer set search_path from current as $$
declare
  head bytea := convert_to('"type":"task.started","path":' || to_jsonb(attempt)::text || ',', 'UTF8');
  request text := (
    select readable(line) -> 'request' ->> '$blob' from entries
    where run_id = id and position(head in substring(line from 1 for 4000)) > 0
    limit 1
  );
begin
  return (select readable(bytes) ->> 'model' from blobs where run_id = id and hash = request);
end $$;

-- What a run has spent by day and model, as its row lists it, with the steps since then and with the runs of its tasks that are
-- crews and not done yet.
create function spent_of(id bigint, run text, status text, said jsonb) returns jsonb
language plpgsql stable security definer set search_path from current as $$
declare
  spent jsonb := coalesce(said -> 'spent', '[]');
  attempt jsonb;
  step record;
  child record;
begin
  if status = 'running' then
    for step in
      select readable(line) as entry from entries where run_id = id and seq > count_of(said -> 'seq') order by seq
    loop
      spent := spent || coalesce(
        (
          select jsonb_agg(usage || jsonb_build_object(
            'day', left(step.entry ->> 'at', 10),
            'model', model_of(id, regexp_replace(step.entry ->> 'path', '/[^/]*$', ''))
          ))
          from unnest(usages_in(step.entry)) as usage
        ),
        '[]'
      );
    end loop;
  end if;
  foreach attempt in array members_of(said -> 'children') loop
    for child in
      select h.id, h.run, l.status, l.summary
      from heads h join listing l on l.id = h.id
      where h.run = spent_of.run || '/' || (attempt #>> '{}')
    loop
      spent := spent || spent_of(child.id, child.run, child.status, readable(child.summary));
    end loop;
  end loop;
  return spent;
end $$;

-- The sum of what is listed.
create function usage_of(spent jsonb) returns jsonb language plpgsql immutable set search_path from current as $$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object(
      'calls', sum(count_of(item -> 'calls')),
      'input', sum(count_of(item -> 'input')),
      'output', sum(count_of(item -> 'output')),
      'cacheRead', sum(count_of(item -> 'cacheRead')),
      'cacheWrite', sum(count_of(item -> 'cacheWrite')),
      'reasoning', sum(count_of(item -> 'reasoning'))
    ))
    from unnest(members_of(spent)) as item
  );
end $$;

-- Null when the price of one of the models is not known.
create function cost_of(spent jsonb) returns numeric
language plpgsql stable security definer set search_path from current as $$
declare
  cost numeric := 0;
  item jsonb;
begin
  foreach item in array members_of(spent) loop
    cost := cost + cost_of(
      count_of(item -> 'calls'),
      count_of(item -> 'input'),
      count_of(item -> 'output'),
      count_of(item -> 'cacheRead'),
      count_of(item -> 'cacheWrite'),
      price_of(item ->> 'model', moment(item ->> 'day')::date)
    );
  end loop;
  return cost;
end $$;

create view runs as
select
  h.run as run_id,
  l.crew,
  l.version,
  case
    when l.status = 'running' and holder.until is null then 'abandoned'
    when l.status = 'suspended' then case when asked.questions > 0 then 'waiting' else 'stopped' end
    else l.status
  end as status,
  inputs_of(h.id, l.inputs) as inputs,
  h.root as root_id,
  substring(h.run from '^(.+)/[^/#]+#[0-9]+$') as caller_id,
  l.parent as parent_id,
  s.said ->> 'from' as parent_from,
  moment(l.created_at) as created_at,
  case l.status when 'running' then coalesce(last_entry_at(h.id), moment(l.updated_at)) else moment(l.updated_at) end as updated_at,
  coalesce(count_of(s.said -> 'lives'), 0) as lives,
  coalesce(count_of(s.said -> 'done'), 0) as done,
  coalesce(count_of(s.said -> 'total'), 0) as total,
  coalesce(asked.questions, 0) as open_questions,
  s.said -> 'suspended' ->> 'reason' as suspended_reason,
  s.said -> 'error' ->> 'code' as error_code,
  s.said -> 'error' ->> 'message' as error_message,
  s.said -> 'error' ->> 'task' as error_task,
  l.priority,
  moment(s.said ->> 'dueAt') as due_at,
  to_timestamp(root.ready_at / 1000.0) as ready_at,
  root.tries,
  root.waiting as messages,
  holder.owner as held_by,
  holder.until as held_until,
  coalesce(count_of(used.usage -> 'calls'), 0) as calls,
  coalesce(count_of(used.usage -> 'input'), 0) as input_tokens,
  coalesce(count_of(used.usage -> 'output'), 0) as output_tokens,
  count_of(used.usage -> 'cacheRead') as cache_read_tokens,
  count_of(used.usage -> 'cacheWrite') as cache_write_tokens,
  count_of(used.usage -> 'reasoning') as reasoning_tokens,
  cost_of(spent.list) as cost
from heads h
join listing l on l.id = h.id
left join heads root on root.run = h.root
cross join lateral (
  select case
    when jsonb_typeof(summary -> 'done') = 'number' then summary
    else '{"error": {"code": "JOURNAL_DAMAGED", "message": "what a list shows about the run is damaged"}}'
  end as said
  from (select readable(l.summary) as summary offset 0) row
  offset 0
) s
-- a process that is gone holds its runs until its lease expires: only its own machine can tell
left join lateral (
  select
    to_timestamp(root.expires_at / 1000.0) as until,
    case when o.owner ? 'label' then (o.owner ->> 'label') || ' (' || o.process || ')' else o.process end as owner
  from (
    select owner, 'process ' || (owner ->> 'pid') || ' on host ' || split_part(owner ->> 'host', '/', 1) as process
    from (select readable(root.owner) as owner offset 0) stored
    offset 0
  ) o
  where root.expires_at > extract(epoch from statement_timestamp()) * 1000
) holder on true
cross join lateral (
  select case
    when l.status in ('completed', 'cancelled') then 0
    when s.said ? 'children' then questions_of(h.run, s.said)
    else count_of(s.said -> 'questions')
  end as questions
  offset 0
) asked
cross join lateral (
  select case
    when l.status = 'running' or s.said ? 'children' then spent_of(h.id, h.run, l.status, s.said)
    else s.said -> 'spent'
  end as list
  offset 0
) spent
cross join lateral (
  select case when l.status = 'running' or s.said ? 'children' then usage_of(spent.list) else s.said -> 'usage' end as usage
  offset 0
) used;
comment on view runs is 'One row per run, as lists have it, with who holds it and when a worker gets it';

-- What runs have spent that work for others counts for the crew of the outermost.
create view cost_by_day as
select
  sums.*,
  cost_of(calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, price_of(model, day)) as cost
from (
  select
    moment(item ->> 'day')::date as day,
    l.crew,
    nullif(item ->> 'model', '') as model,
    sum(count_of(item -> 'calls'))::bigint as calls,
    sum(count_of(item -> 'input'))::bigint as input_tokens,
    sum(count_of(item -> 'output'))::bigint as output_tokens,
    sum(count_of(item -> 'cacheRead'))::bigint as cache_read_tokens,
    sum(count_of(item -> 'cacheWrite'))::bigint as cache_write_tokens,
    sum(count_of(item -> 'reasoning'))::bigint as reasoning_tokens
  from heads h
  join listing l on l.id = h.id
  left join heads root on root.run = h.root
  cross join lateral (select readable(l.summary) as said offset 0) s
  cross join unnest(members_of(case
    when l.status = 'running' or s.said ? 'children' then spent_of(h.id, h.run, l.status, s.said)
    else s.said -> 'spent'
  end)) as item
  where h.run = h.root or root.run is null
  group by item ->> 'day', l.crew, item ->> 'model'
) sums;
comment on view cost_by_day is 'What the runs of each crew have spent, by day (in UTC) and model. No cost: prices lacks the model';
`,
  },
  {
    number: 3,
    name: '0003-tasks-view',
    checksum: '82e3df27645160520ec14a35e845e88658f48bc2b279ea73c21ee49ced804f91',
    sql: `-- The tasks of runs as their journals tell them: what src/journal/state/fold.ts and src/runs/task-view.ts make of one, in SQL.

create view tasks as
select h.run as run_id, l.crew, task.*
from heads h
join listing l on l.id = h.id
left join heads root on root.run = h.root
cross join lateral (select readable(l.summary) as said offset 0) s
cross join lateral (
  with entry as materialized (
    select seq, said ->> 'type' as type, said ->> 'path' as path, said ->> 'at' as at, said
    from (select seq, entry_of(h.id, line) as said from entries where run_id = h.id offset 0) lines
  ),
  -- the tasks that the crew had when the run was last executed
  declared as (
    select place as position, said ->> 'name' as name, said
    from unnest(members_of((
      select said -> 'tasks' from entry
      where type in ('run.created', 'run.resumed') and said ? 'tasks'
      order by seq desc
      limit 1
    ))) with ordinality as tasks (said, place)
  ),
  -- what was recorded of tasks, but for what happened within their steps; pending: a person wants it executed again
  mark as materialized (
    select
      seq,
      task_of(path) as name,
      case type
        when 'task.started' then 'running'
        when 'task.completed' then 'executed'
        when 'task.invalidated' then 'pending'
        else substring(type from 'task\\.(.*)')
      end as status,
      path,
      at,
      said
    from entry
    where type like 'task.%' and strpos(path, '/') = 0
    union all
    select seq, task #>> '{}', 'pending', task #>> '{}', at, said
    from entry
    cross join unnest(members_of(said -> 'edited' -> 'tasks')) as task
    where type = 'run.resumed'
  ),
  newest as (
    select distinct on (name) * from mark where status <> 'offered' order by name, seq desc
  ),
  -- the output that counts, if there is one
  settled as (
    select distinct on (name) * from mark
    where status in ('executed', 'inherited', 'edited', 'pending')
    order by name, seq desc
  ),
  output as (
    select
      seq, name, status, path, at, said as entry,
      case status
        when 'inherited' then coalesce(
          said -> 'output',
          (
            select offer.said -> 'output' from mark offer
            where offer.name = settled.name and offer.status = 'offered' and offer.seq < settled.seq
            order by offer.seq desc
            limit 1
          )
        )
        when 'edited' then said
        -- a text that the model said last is not stored again
        else jsonb_build_object('structured', said -> 'structured', 'raw', coalesce(
          said ->> 'raw',
          (
            select reply_text(reply.said -> 'parts') from entry reply
            where
              reply.type = 'model.replied'
              and reply.seq < settled.seq
              and regexp_replace(reply.path, '/[0-9]+$', '') = settled.path
            order by reply.seq desc
            limit 1
          )
        ))
      end as said
    from settled
    where status <> 'pending'
  ),
  start as (
    select
      name,
      count(*) as attempts,
      (array_agg(at order by seq))[1] as at,
      (array_agg(path order by seq desc))[1] as newest,
      (array_agg(said -> 'child' order by seq desc))[1] = 'true' as is_crew
    from mark
    where status = 'running'
    group by name
  ),
  -- what the run failed with, unless it was resumed since; then the error of the task itself, unless it was begun again
  failure as (
    select said -> 'error' as error, said ->> 'task' as name
    from (select * from entry where type in ('run.failed', 'run.resumed') order by seq desc limit 1) last
    where type = 'run.failed'
  ),
  failed as (
    select name, said -> 'error' as error
    from (
      select distinct on (name) * from mark
      where status in ('running', 'executed', 'edited', 'pending', 'failed')
      order by name, seq desc
    ) last
    where status = 'failed'
  ),
  -- questions that nobody has answered, and that nothing since has made needless
  question as (
    select q.seq, q.said -> 'question' as said, task_of(q.said -> 'question' ->> 'path') as name
    from entry q
    where
      q.type = 'question.asked'
      and l.status not in ('completed', 'cancelled')
      and not exists (
        select from entry later
        where later.seq > q.seq and (
          later.type = 'question.answered' and later.said ->> 'question' = q.said -> 'question' ->> 'id'
          or later.type = 'question.asked' and later.said -> 'question' ->> 'id' = q.said -> 'question' ->> 'id'
          or later.type = 'task.failed' and starts_with(q.said -> 'question' ->> 'path', later.path || '/')
          or later.type = 'run.resumed' and later.said ? 'budget' and q.said -> 'question' ->> 'kind' = 'limit'
        )
      )
      and not exists (
        select from mark
        where
          mark.seq > q.seq
          and mark.name = task_of(q.said -> 'question' ->> 'path')
          and mark.status in ('running', 'executed', 'failed', 'edited', 'pending')
      )
  ),
  -- the runs of tasks that are crews and not done yet
  child as materialized (
    select task_of(attempt #>> '{}') as name, coalesce(s.said -> 'open' @> attempt, true) as is_open, run.*
    from unnest(members_of(s.said -> 'children')) as attempt
    cross join lateral (select * from runs where run_id = h.run || '/' || (attempt #>> '{}') offset 0) run
  ),
  used as (
    select
      name,
      sum(count_of(usage -> 'calls'))::bigint as calls,
      sum(count_of(usage -> 'input'))::bigint as input_tokens,
      sum(count_of(usage -> 'output'))::bigint as output_tokens,
      sum(count_of(usage -> 'cacheRead'))::bigint as cache_read_tokens,
      sum(count_of(usage -> 'cacheWrite'))::bigint as cache_write_tokens,
      sum(count_of(usage -> 'reasoning'))::bigint as reasoning_tokens
    from (
      select task_of(path) as name, usage, 'executed' as status
      from entry
      cross join unnest(usages_in(said) || array(select jsonb_path_query(said, '$.spent.*'))) as usage
      where type in ('model.replied', 'model.failed', 'task.completed')
      union all
      select
        name,
        jsonb_build_object(
          'calls', calls, 'input', input_tokens, 'output', output_tokens,
          'cacheRead', cache_read_tokens, 'cacheWrite', cache_write_tokens, 'reasoning', reasoning_tokens
        ),
        'executed'
      from child
      union all
      select name, said -> 'usage', 'inherited' from output where status = 'inherited'
    ) spent
    -- of an inherited output, what making it took, wherever that was
    where (status = 'inherited') = exists (select from output where output.name = spent.name and output.status = 'inherited')
    group by name
  )
  select
    declared.position,
    declared.name as task,
    declared.said ->> 'id' as task_id,
    declared.said ->> 'description' as description,
    declared.said ->> 'expectedOutput' as expected_output,
    coalesce(
      case output.status
        when 'inherited' then output.said ->> 'agent'
        when 'executed' then (
          select nullif(said ->> 'agent', '') from mark
          where mark.path = output.path and mark.status = 'running'
          limit 1
        )
      end,
      declared.said ->> 'agent'
    ) as agent,
    case
      when newest.status is null then 'pending'
      when newest.status = 'failed' and exists (select from entry where type = 'run.resumed' and seq > newest.seq) then 'pending'
      when newest.status <> 'running' then newest.status
      when failure.name = declared.name then 'failed'
      when asking.questions > 0 then 'waiting'
      when l.status = 'running' and root.expires_at > extract(epoch from statement_timestamp()) * 1000 then 'running'
      else 'started'
    end as status,
    coalesce(start.attempts, 0) as attempts,
    moment(case output.status
      when 'inherited' then output.said ->> 'startedAt'
      when 'edited' then coalesce(start.at, output.at)
      else start.at
    end) as started_at,
    moment(case output.status when 'inherited' then output.said ->> 'completedAt' else output.at end) as completed_at,
    output.said ->> 'raw' as raw,
    case output.said -> 'structured' when 'true' then readable(output.said ->> 'raw') else output.said -> 'raw' end as output,
    (
      select said ->> 'file' from entry
      where type = 'file.written' and task_of(path) = declared.name and count_of(said -> 'of') = output.seq
      order by seq desc
      limit 1
    ) as output_file,
    case output.status when 'inherited' then output.entry -> 'from' ->> 'run' end as inherited_from,
    case output.status when 'inherited' then output.entry -> 'stale' end as stale,
    coalesce(failed.error, failure.error) ->> 'code' as error_code,
    coalesce(failed.error, failure.error) ->> 'message' as error_message,
    case when start.is_crew then h.run || '/' || start.newest end as child_id,
    asking.questions as open_questions,
    asking.question,
    coalesce(used.calls, 0) as calls,
    coalesce(used.input_tokens, 0) as input_tokens,
    coalesce(used.output_tokens, 0) as output_tokens,
    used.cache_read_tokens,
    used.cache_write_tokens,
    used.reasoning_tokens
  from declared
  left join newest on newest.name = declared.name
  left join output on output.name = declared.name
  left join start on start.name = declared.name
  left join used on used.name = declared.name
  left join failure on failure.name = declared.name
  left join failed on failed.name = declared.name
  cross join lateral (
    select
      (select count(*) from question where question.name = declared.name)
      + case when l.status in ('completed', 'cancelled') then 0 else
        coalesce((select sum(open_questions) from child where child.name = declared.name and child.is_open), 0)
      end as questions,
      (select said ->> 'text' from question where question.name = declared.name order by seq limit 1) as question
  ) asking
) task;
comment on view tasks is 'One row per task of a run, as a view of the run has it. Ask it by run_id: it reads the journal';
`,
  },
  {
    number: 4,
    name: '0004-steps-view',
    checksum: '6a6ae6031e7f64a5c664c6a7202c9de3971a7f583dec1f2d1155d1f53b6d6d40',
    sql: `-- The steps of runs: each model call, and each tool call that a model asked for or that was made.

create view steps as
select
  h.run as run_id,
  l.crew,
  step.seq,
  task_of(step.path) as task,
  step.attempt,
  step.path,
  step.kind,
  step.name,
  step.agent,
  step.status,
  moment(step.started_at) as started_at,
  moment(step.ended_at) as ended_at,
  moment(step.ended_at) - moment(step.started_at) as took,
  step.effect,
  step.source,
  step.times,
  step.input,
  step.output,
  step.error,
  step.calls,
  step.input_tokens,
  step.output_tokens,
  step.cache_read_tokens,
  step.cache_write_tokens,
  step.reasoning_tokens,
  case step.kind when 'model' then cost_of(
    step.calls, step.input_tokens, step.output_tokens, step.cache_read_tokens, step.cache_write_tokens,
    price_of(step.name, moment(left(step.ended_at, 10))::date)
  ) end as cost
from heads h
join listing l on l.id = h.id
cross join lateral (
  with entry as materialized (
    select seq, said ->> 'type' as type, said ->> 'path' as path, said ->> 'at' as at, said
    from (select seq, entry_of(h.id, line) as said from entries where run_id = h.id offset 0) lines
  ),
  attempt as materialized (
    select distinct on (path)
      path,
      nullif(said ->> 'agent', '') as agent,
      (
        select readable(bytes) ->> 'model' from blobs
        where run_id = h.id and hash = said -> 'request' ->> '$blob'
      ) as model
    from entry
    where type = 'task.started'
    order by path, seq desc
  ),
  turn as (
    select *, regexp_replace(path, '/[^/]*$', '') as attempt from entry where type in ('model.replied', 'model.failed')
  ),
  -- the tool calls that models asked for; those that began, ended or were given up, the newest of each kind
  asked as (
    select turn.seq, turn.path || '.' || (call.number - 1) as path, call.part
    from turn
    cross join lateral (
      select part, row_number() over (order by place) as number
      from unnest(members_of(turn.said -> 'parts')) with ordinality as parts (part, place)
      where part ->> 'type' = 'call'
    ) call
  ),
  call as (
    select distinct on (path, type) * from entry
    where type in ('tool.called', 'tool.returned', 'tool.abandoned')
    order by path, type, seq desc
  ),
  begun as (
    select
      path,
      count(*) filter (where type = 'tool.called')
        - count(*) filter (where type = 'tool.abandoned' and said -> 'begun' = 'false') as times,
      (array_agg(said -> 'input' order by seq desc) filter (where type = 'tool.called' and said ? 'input'))[1] as input
    from entry
    where type in ('tool.called', 'tool.abandoned')
    group by path
  )
  select
    turn.seq,
    turn.attempt,
    turn.path,
    'model' as kind,
    nullif(attempt.model, '') as name,
    attempt.agent,
    substring(turn.type from 'model\\.(.*)') as status,
    turn.said ->> 'startedAt' as started_at,
    turn.at as ended_at,
    null as effect,
    null as source,
    cardinality(members_of(turn.said -> 'tries')) + case turn.type when 'model.replied' then 1 else 0 end as times,
    null::jsonb as input,
    case turn.type when 'model.replied' then to_jsonb(reply_text(turn.said -> 'parts')) end as output,
    turn.said -> 'error' ->> 'message' as error,
    coalesce(used.calls, 0) as calls,
    coalesce(used.input_tokens, 0) as input_tokens,
    coalesce(used.output_tokens, 0) as output_tokens,
    used.cache_read_tokens,
    used.cache_write_tokens,
    used.reasoning_tokens
  from turn
  left join attempt on attempt.path = turn.attempt
  cross join lateral (
    select
      sum(count_of(usage -> 'calls'))::bigint as calls,
      sum(count_of(usage -> 'input'))::bigint as input_tokens,
      sum(count_of(usage -> 'output'))::bigint as output_tokens,
      sum(count_of(usage -> 'cacheRead'))::bigint as cache_read_tokens,
      sum(count_of(usage -> 'cacheWrite'))::bigint as cache_write_tokens,
      sum(count_of(usage -> 'reasoning'))::bigint as reasoning_tokens
    from unnest(usages_in(turn.said)) as usage
  ) used
  union all
  select
    coalesce(called.seq, returned.seq, asked.seq),
    regexp_replace(place.path, '/[^/]*$', ''),
    place.path,
    'tool',
    coalesce(asked.part ->> 'tool', called.said ->> 'tool'),
    attempt.agent,
    case
      when returned.said -> 'outcome' ? 'result' then 'returned'
      when returned.said -> 'outcome' ? 'denied' then 'denied'
      when returned.said -> 'outcome' ? 'unreadable' then 'unreadable'
      when returned.path is not null then 'failed'
      when abandoned.seq > called.seq then case when abandoned.said -> 'begun' = 'false' then 'asked' else 'abandoned' end
      when called.path is not null then 'called'
      else 'asked'
    end,
    case when abandoned.seq > called.seq and abandoned.said -> 'begun' = 'false' then null else called.at end,
    returned.at,
    case when abandoned.seq > called.seq and abandoned.said -> 'begun' = 'false' then null else called.said ->> 'effect' end,
    returned.said ->> 'source',
    coalesce(begun.times, 0),
    -- a task that is a function is given the inputs of the run, and no model asks for it
    coalesce(begun.input, asked.part -> 'input', (select said -> 'inputs' from entry where type = 'run.created' limit 1)),
    returned.said -> 'outcome' -> 'result',
    coalesce(
      returned.said -> 'outcome' ->> 'error',
      returned.said -> 'outcome' ->> 'denied',
      returned.said -> 'outcome' ->> 'unreadable',
      case when returned.path is null and abandoned.seq > called.seq then abandoned.said ->> 'reason' end
    ),
    null, null, null, null, null, null
  from (select path from asked union select path from call) place
  left join asked on asked.path = place.path
  left join call called on called.path = place.path and called.type = 'tool.called'
  left join call returned on returned.path = place.path and returned.type = 'tool.returned'
  left join call abandoned on abandoned.path = place.path and abandoned.type = 'tool.abandoned'
  left join begun on begun.path = place.path
  left join attempt on attempt.path = regexp_replace(place.path, '/[^/]*$', '')
) step;
comment on view steps is 'One row per model call and per tool call. Ask it by run_id: it reads the journal';
`,
  },
  {
    number: 5,
    name: '0005-shards',
    checksum: '867d217dbe2d388049ac0864ec5a5111a606b451e51f157f44f9b92d5748451d',
    sql: `-- The stores over which runs are spread, when this one is one of several: a row for each, and one that is this store (self).
-- founder: it was one of them when this store last had no run (src/stores/sharded/join-shards.ts).
create table shards (
  id text collate "C" primary key,
  url text not null,
  self boolean not null,
  founder boolean not null
);

-- Code that knows nothing of this would make runs that exist in another shard.
update oldest_writer set format = 5;
`,
  },
  {
    number: 6,
    name: '0006-ready-runs',
    checksum: '2c6c51ec8b10e92aa1e048a6aebafdd9fff69dcb2e3244d3a25370372398f4bb',
    sql: `-- A suspended run that has what it waited for waits for a worker: it is queued, and not stopped.
create or replace view runs as
select
  h.run as run_id,
  l.crew,
  l.version,
  case
    when l.status = 'running' and holder.until is null then 'abandoned'
    when l.status = 'suspended' then case
      when asked.questions > 0 then 'waiting'
      when (s.said -> 'woken') = 'true' and coalesce(s.said -> 'imported', 'false') <> 'true'
        and s.said -> 'suspended' ->> 'reason' in ('questions', 'limit', 'child', 'parent') then 'queued'
      else 'stopped'
    end
    else l.status
  end as status,
  inputs_of(h.id, l.inputs) as inputs,
  h.root as root_id,
  substring(h.run from '^(.+)/[^/#]+#[0-9]+$') as caller_id,
  l.parent as parent_id,
  s.said ->> 'from' as parent_from,
  moment(l.created_at) as created_at,
  case l.status when 'running' then coalesce(last_entry_at(h.id), moment(l.updated_at)) else moment(l.updated_at) end as updated_at,
  coalesce(count_of(s.said -> 'lives'), 0) as lives,
  coalesce(count_of(s.said -> 'done'), 0) as done,
  coalesce(count_of(s.said -> 'total'), 0) as total,
  coalesce(asked.questions, 0) as open_questions,
  s.said -> 'suspended' ->> 'reason' as suspended_reason,
  s.said -> 'error' ->> 'code' as error_code,
  s.said -> 'error' ->> 'message' as error_message,
  s.said -> 'error' ->> 'task' as error_task,
  l.priority,
  moment(s.said ->> 'dueAt') as due_at,
  to_timestamp(root.ready_at / 1000.0) as ready_at,
  root.tries,
  root.waiting as messages,
  holder.owner as held_by,
  holder.until as held_until,
  coalesce(count_of(used.usage -> 'calls'), 0) as calls,
  coalesce(count_of(used.usage -> 'input'), 0) as input_tokens,
  coalesce(count_of(used.usage -> 'output'), 0) as output_tokens,
  count_of(used.usage -> 'cacheRead') as cache_read_tokens,
  count_of(used.usage -> 'cacheWrite') as cache_write_tokens,
  count_of(used.usage -> 'reasoning') as reasoning_tokens,
  cost_of(spent.list) as cost
from heads h
join listing l on l.id = h.id
left join heads root on root.run = h.root
cross join lateral (
  select case
    when jsonb_typeof(summary -> 'done') = 'number' then summary
    else '{"error": {"code": "JOURNAL_DAMAGED", "message": "what a list shows about the run is damaged"}}'
  end as said
  from (select readable(l.summary) as summary offset 0) row
  offset 0
) s
-- a process that is gone holds its runs until its lease expires: only its own machine can tell
left join lateral (
  select
    to_timestamp(root.expires_at / 1000.0) as until,
    case when o.owner ? 'label' then (o.owner ->> 'label') || ' (' || o.process || ')' else o.process end as owner
  from (
    select owner, 'process ' || (owner ->> 'pid') || ' on host ' || split_part(owner ->> 'host', '/', 1) as process
    from (select readable(root.owner) as owner offset 0) stored
    offset 0
  ) o
  where root.expires_at > extract(epoch from statement_timestamp()) * 1000
) holder on true
cross join lateral (
  select case
    when l.status in ('completed', 'cancelled') then 0
    when s.said ? 'children' then questions_of(h.run, s.said)
    else count_of(s.said -> 'questions')
  end as questions
  offset 0
) asked
cross join lateral (
  select case
    when l.status = 'running' or s.said ? 'children' then spent_of(h.id, h.run, l.status, s.said)
    else s.said -> 'spent'
  end as list
  offset 0
) spent
cross join lateral (
  select case when l.status = 'running' or s.said ? 'children' then usage_of(spent.list) else s.said -> 'usage' end as usage
  offset 0
) used;
`,
  },
  {
    number: 7,
    name: '0007-deaths',
    checksum: '0bc1cbc2f0fd13de9a28500baf0aa8e9e9d1db58fd62995b3283c98379efe54b',
    sql: `-- How many holders of a run ended without a release and without progress, and the token of the last of them (src/stores/rules/ready.ts).
alter table heads add column deaths integer not null default 0;
alter table heads add column died bigint not null default 0;

-- There are few of them, and a claim gives them out one by one.
create index heads_suspect on heads (crew, version, format, priority, ready_at) where deaths > 0 and ready_at is not null;
create index heads_suspect_held on heads (owner) where deaths > 0;

-- Code that knows nothing of this would not count them.
update oldest_writer set format = 7;
`,
  },
]
