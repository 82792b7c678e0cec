-- For people and dashboards: one row per run, without what was said in it. Reprise does not read this view. It shows the listing,
-- which is written when a run's status changes or a task ends, and reads no journal.
create view runs as
select
  run as run_id,
  crew,
  version,
  status,
  root as root_id,
  parent as parent_id,
  priority,
  created_at::timestamptz as created_at,
  updated_at::timestamptz as updated_at,
  (facts -> 'done')::int as done,
  (facts -> 'total')::int as total,
  (facts -> 'questions')::int as open_questions,
  facts #>> '{suspended,reason}' as suspended_reason,
  facts #>> '{error,code}' as error_code,
  facts #>> '{error,task}' as error_task,
  (facts ->> 'dueAt')::timestamptz as due_at,
  (facts #> '{usage,calls}')::int8 as calls,
  (facts #> '{usage,input}')::int8 as input_tokens,
  (facts #> '{usage,output}')::int8 as output_tokens
from listing
-- jsonb takes neither NUL nor half a character, which JSON has as escapes
cross join lateral (
  select regexp_replace(summary, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')::jsonb as facts
) summaries;
comment on view runs is 'One row per run. A run that is executing has used more since its last task ended';
