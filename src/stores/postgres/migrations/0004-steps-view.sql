-- The steps of runs: each model call, and each tool call that a model asked for or that was made.

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
    substring(turn.type from 'model\.(.*)') as status,
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
