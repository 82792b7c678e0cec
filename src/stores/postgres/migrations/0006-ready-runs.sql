-- A suspended run that has what it waited for waits for a worker: it is queued, and not stopped.
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
