-- Functions for batches and rows. A batch is read in the order in which batch-arguments.ts writes it.
local row_fields = {
  'crew', 'version', 'format', 'priority', 'status', 'created_at', 'updated_at', 'forked_from', 'inputs', 'summary',
}

local function next_row()
  local row = {}
  for _, field in ipairs(row_fields) do row[field] = next_argument() end
  return row
end

local function next_batch()
  local batch = { run = next_argument(), root = next_argument(), hash = next_argument(), bytes = next_number() }
  batch.due = next_argument()
  batch.row = next_list(next_row)[1]
  batch.lines = next_list(next_argument)
  batch.taken = next_list(next_argument)
  batch.blobs = next_list(function() return { hash = next_argument(), bytes = next_argument() } end)
  batch.outputs = next_list(function()
    return { task = next_argument(), fingerprint = next_argument(), seq = next_argument(), completed_at = next_number() or now }
  end)
  return batch
end

local function due_of(batch)
  if batch.due == 'now' then return now end
  return tonumber(batch.due)
end

-- Stands in for a line that was removed by hand (journal.ts).
local lost_line = '\0lost'

-- The position of a run in ordered lists. They are ordered by bytes: by creation time and then by id.
local function place_of(row, run)
  return row.created_at .. '\0' .. run
end
local function lists_of(row, root)
  local lists = { key('list', row.status), key('list', joined(row.status, row.crew)), key('tree', root) }
  if row.forked_from ~= '' then lists[#lists + 1] = key('forks', row.forked_from) end
  return lists
end

local function unlist(row, run, root)
  for _, list in ipairs(lists_of(row, root)) do redis.call('zrem', list, place_of(row, run)) end
end

local function read_row(run)
  local values = redis.call('hmget', key('run', run), unpack(row_fields))
  if not values[1] then return nil end
  local row = {}
  for index, field in ipairs(row_fields) do row[field] = values[index] or '' end
  return row
end

-- Replaces the row of a run. The root's record is written by write_tree.
local function write_row(batch, before)
  local row = batch.row
  if before then unlist(before, batch.run, batch.root) end
  for _, list in ipairs(lists_of(row, batch.root)) do redis.call('zadd', list, 0, place_of(row, batch.run)) end
  local values = {}
  for _, field in ipairs(row_fields) do
    values[#values + 1] = field
    values[#values + 1] = row[field]
  end
  redis.call('hset', key('run', batch.run), unpack(values))
end

-- Lua limits the arguments of a call to a few thousand.
local most_values = 1000
local function push_lines(list, lines)
  for first = 1, #lines, most_values do
    redis.call('rpush', list, unpack(lines, first, math.min(first + most_values - 1, #lines)))
  end
end

-- The bytes that a batch adds to a run, without blobs that the run already has.
local function new_bytes(batch)
  local bytes, is_there = batch.bytes, {}
  for _, blob in ipairs(batch.blobs) do
    if is_there[blob.hash] or redis.call('hexists', key('blobs', batch.run), blob.hash) == 1 then bytes = bytes - #blob.bytes end
    is_there[blob.hash] = true
  end
  return bytes
end

-- Writes lines, blobs and outputs. `seq` and `bytes` are the run's last entry and size after the batch.
local function write_batch(batch, crew, seq, bytes)
  local run = batch.run
  push_lines(key('lines', run), batch.lines)
  redis.call('hset', key('run', run), 'seq', seq, 'hash', batch.hash, 'bytes', bytes)
  for _, blob in ipairs(batch.blobs) do redis.call('hsetnx', key('blobs', run), blob.hash, blob.bytes) end
  for _, output in ipairs(batch.outputs) do
    local found = key('outputs', joined(crew, output.task, output.fingerprint))
    -- of outputs completed at the same time, the last written comes first
    local member = string.format('%016.0f:', redis.call('incr', prefix .. 'made')) .. output.seq .. ':' .. run
    redis.call('zadd', found, output.completed_at, member)
    redis.call('hset', key('outputs-of', run), member, found)
  end
end
