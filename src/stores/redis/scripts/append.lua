-- Appends to a run. Answers with 'appended' and how many messages wait for the unit, or with what is in the way, in the order in
-- which every store checks.
local batch = next_batch()
local token, lease, after = next_number(), next_argument(), next_number()
local progress, most_bytes = next_argument() == '1', next_number()
local run, root, row = batch.run, batch.root, batch.row

local held = redis.call('hmget', key('run', root), 'token', 'lease', 'waiting', 'tries')
if tonumber(held[1]) ~= token or held[2] ~= lease then return holding_of(read_unit(root)) end
local head = redis.call('hmget', key('run', run), 'status', 'seq', 'inbox', 'crew', 'bytes')
local status, seq, inbox = head[1], tonumber(head[2]), tonumber(head[3])
if not status then return { 'unknown' } end
local lines = redis.call('llen', key('lines', run))
local last = math.max(lines, seq or 0)
if last ~= after then return { 'seq', last } end
local opens = row and status == 'completed' and not is_ended(row.status)
if is_ended(status) and not opens then return { 'ended', status } end
local taken, is_taken = {}, {}
for _, message in ipairs(batch.taken) do
  if not is_taken[message] and redis.call('zscore', key('inbox', run), message) then taken[#taken + 1] = message end
  is_taken[message] = true
end
if row and row.status == 'completed' and inbox > #taken then
  for _, message in ipairs(redis.call('zrange', key('inbox', run), 0, -1)) do
    if not is_taken[message] then return { 'inbox', message } end
  end
end
local bytes = tonumber(head[5] or 0) + new_bytes(batch)
if bytes > most_bytes then return { 'full', bytes } end
-- of a cancelled run nobody records messages any more
local gone = row and row.status == 'cancelled' and inbox or #taken
-- a plain step of a run that has got further before changes nothing of its unit
local changes = (row and run == root) or gone > 0 or (progress and held[4] ~= '0')
local unit = changes and read_unit(root)

-- entries that somebody removed by hand keep their numbers
for _ = lines + 1, after do redis.call('rpush', key('lines', run), lost_line) end
-- first: a server without memory refuses what adds something, but nothing any more after the first write
write_batch(batch, row and row.crew or head[4], after + #batch.lines, bytes)
if row then write_row(batch, read_row(run)) end
for _, message in ipairs(taken) do
  redis.call('zrem', key('inbox', run), message)
  -- its id stays: it is unique for ever
  redis.call('hset', key('messages', run), message, '')
end
if gone > 0 then redis.call('hincrby', key('run', run), 'inbox', -gone) end
if unit then
  unit.waiting = unit.waiting - gone
  if progress then unit.tries, unit.deaths, unit.died = 0, nil, nil end
  if row and run == root then
    unit.due_at = due_of(batch)
    unit.status, unit.crew, unit.version = row.status, row.crew, row.version
    unit.format, unit.priority = row.format, row.priority
  end
  write_unit(unit)
end
if row and row.status ~= 'running' and row.status ~= 'queued' then tell('c', run) end
return { 'appended', unit and unit.waiting or tonumber(held[3]) }
