-- For people and their dashboards: the views runs and cost_by_day, the prices that costs are made from, and what tasks and steps
-- (in the next files) are read with. They say what lists of runs and views of one say, in the same words. Reprise
-- itself reads none of them.
--
-- One run is found by its key, and only its own entries are read. A list of runs, and cost_by_day, are made from the rows of the
-- listing; entries are read only of runs that are running, after the last one that the row covers. What cannot be read is null, and
-- fails nothing. `offset 0` keeps the planner from computing the value above it once for each place where it is used. What is
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
      convert_from(stored, 'UTF8'), '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1\\ufffd', 'gi'
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
-- more `$` until then.
create function whole(id bigint, value jsonb) returns jsonb language plpgsql stable set search_path from current as $$
begin
  if value::text !~ '"\$+blob"' then
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
      select jsonb_object_agg(regexp_replace(name, '^\$(\$+blob)$', '\1'), whole(id, item))
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
  select case when said ~ '\S' or made is null then coalesce(said, '') else made end
  from (
    select
      string_agg(part ->> 'text', '' order by place) filter (where part ->> 'type' = 'text') as said,
      string_agg('[file ' || (part ->> 'mediaType') || ']', E'\n' order by place)
        filter (where part ->> 'type' = 'file' and part -> 'thought' is null) as made
    from jsonb_path_query(parts, '$[*]') with ordinality as items (part, place)
  ) texts
);

-- Inputs as they were given: a member of the user's own that looks like a file has one more `$` until then. Those that are too
-- large for a listing are in the journal. Wherever they are, they are contents.
create function inputs_of(id bigint, listed text) returns jsonb language plpgsql stable set search_path from current as $$
declare
  inputs jsonb := readable(listed);
begin
  perform from entries limit 0; -- asks for the right to read them
  if listed = '' then
    inputs := (select entry_of(id, line) -> 'inputs' from entries where run_id = id and seq = 1);
  end if;
  return regexp_replace(inputs::text, '(?<!\\)"\$(\$+file)":', '"\1":', 'g')::jsonb;
end $$;

create function last_entry_at(id bigint) returns timestamptz
language plpgsql stable security definer set search_path from current as $$
begin
  return (select moment(readable(line) ->> 'at') from entries where run_id = id order by seq desc limit 1);
end $$;

-- How many questions of a run are open, with those of the runs of its tasks. `said` is what its row says.
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
