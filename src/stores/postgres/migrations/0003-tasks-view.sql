-- The tasks of runs as their journals tell them: what src/journal/state/fold.ts and src/runs/task-view.ts make of one, in SQL.

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
        else substring(type from 'task\.(.*)')
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
