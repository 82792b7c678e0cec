-- Deletes runs of one unit, with everything that belongs to them. Answers with 1, or with 0 when the lease or the unit is no longer as
-- the caller has read it.
local root = next_argument()
if not next_is_as_read(root) then return 0 end
if redis.call('zcard', key('tree', root)) ~= next_number() then return 0 end

local unit = read_unit(root)
local gone = next_list(next_argument)
for _, run in ipairs(gone) do
  -- first: a server without memory refuses what adds something, but nothing any more after the first write
  local row = read_row(run)
  if row then unlist(row, run, root) end
  local left = tonumber(redis.call('hget', key('run', run), 'inbox') or 0)
  if run == root then
    unit.status = 'cancelled'
    free_unit(unit)
    unit = nil
  elseif unit and left > 0 then
    unit.waiting = unit.waiting - left
  end
  local outputs = redis.call('hgetall', key('outputs-of', run))
  for index = 1, #outputs, 2 do redis.call('zrem', outputs[index + 1], outputs[index]) end
  for _, kind in ipairs({ 'run', 'lines', 'blobs', 'messages', 'inbox', 'outputs-of' }) do redis.call('unlink', key(kind, run)) end
  tell('c', run)
end
if unit and #gone > 0 then write_unit(unit) end
return 1
