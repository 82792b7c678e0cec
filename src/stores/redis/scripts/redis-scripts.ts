// Generated from the .lua files beside it by scripts/embed-texts.ts: change those, and run it again.
export type ScriptName =
  | 'acquire'
  | 'append'
  | 'claim'
  | 'create'
  | 'delete'
  | 'free'
  | 'list'
  | 'post'
  | 'ready'
  | 'release'
  | 'renew'
  | 'rights'

const common = `-- What all scripts begin with: the names of keys, the clock, and units. A script has no rollback, so each checks everything before
-- its first write. KEYS[1] is what all keys of the store begin with, in braces: a cluster would keep them together.
local prefix = KEYS[1]

-- Arguments are read in order. One that is missing is an empty text.
local argument = 0
local function next_argument()
  argument = argument + 1
  return ARGV[argument]
end
local function next_number()
  return tonumber(next_argument())
end
-- How many there are comes before them.
local function next_list(read)
  local list = {}
  for index = 1, next_number() do list[index] = read() end
  return list
end

-- In milliseconds since 1970: what a test says, or else this server's clock.
local given_now = next_number()
local function clock()
  if given_now then return given_now end
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local now = clock()

local function key(kind, name)
  return prefix .. kind .. ':' .. name
end
-- Several names as one that no other names give.
local function joined(...)
  local parts = {}
  for index, name in ipairs({ ... }) do parts[index] = #name .. ':' .. name end
  return table.concat(parts)
end

local function is_ended(status)
  return status == 'completed' or status == 'cancelled'
end

-- A root, with what decides who may write to its unit and when it is offered to a worker (rules/ready.ts).
local unit_fields = {
  'token', 'lease', 'owner', 'expires_at', 'due_at', 'waiting', 'tries', 'deaths', 'died', 'ready_at',
  'status', 'crew', 'version', 'format', 'priority',
}
local unit_numbers = {
  token = true, expires_at = true, due_at = true, waiting = true, tries = true, deaths = true, died = true, ready_at = true,
}

local function read_unit(root)
  local values = redis.call('hmget', key('run', root), unpack(unit_fields))
  local unit = { run = root, was = {} }
  for index, field in ipairs(unit_fields) do
    local value = values[index] or nil
    if unit_numbers[field] then value = tonumber(value) end
    unit[field] = value
    unit.was[field] = value
  end
  return unit.status and unit
end

-- 0 to 999, by the bytes of the name.
local function jitter_of(run)
  local sum = 0
  for index = 1, #run do sum = sum + string.byte(run, index) * index end
  return sum * 619 % 1000
end

local most_doublings = 9
local function ready_at(unit)
  if is_ended(unit.status) then return nil end
  local due = unit.waiting > 0 and now or unit.due_at
  if not due then return nil end
  local expires_at = unit.expires_at or 0
  if unit.tries < 2 then return math.max(due, expires_at) end
  return math.max(due, now, expires_at) + 2 ^ math.min(unit.tries - 2, most_doublings) * (1000 + jitter_of(unit.run))
end

-- A root whose last holder died is kept apart from those that may be given together.
local function lane_of(unit)
  local kind = (unit.deaths or 0) > 0 and 'suspects' or 'lane'
  return key(kind, joined(unit.crew, unit.version, unit.format, unit.priority))
end

local function change_sets(unit)
  local was = unit.was
  if was.status and was.ready_at then
    local lane = lane_of(was)
    if not unit.ready_at or lane ~= lane_of(unit) then redis.call('zrem', lane, unit.run) end
  end
  if unit.ready_at then redis.call('zadd', lane_of(unit), unit.ready_at, unit.run) end
  if was.owner and was.owner ~= unit.owner then
    redis.call('srem', key('held-by', was.owner), unit.run)
    if redis.call('exists', key('held-by', was.owner)) == 0 then redis.call('zrem', prefix .. 'owners', was.owner) end
  end
  if was.owner and (not unit.owner or was.crew ~= unit.crew) then redis.call('zrem', key('held', was.crew), unit.run) end
  if unit.owner then
    if was.owner ~= unit.owner then
      redis.call('sadd', key('held-by', unit.owner), unit.run)
      redis.call('zadd', prefix .. 'owners', 0, unit.owner)
    end
    redis.call('zadd', key('held', unit.crew), unit.expires_at, unit.run)
  end
end

-- Writes what has changed of a unit.
local function save_unit(unit)
  local set, gone = {}, {}
  for _, field in ipairs(unit_fields) do
    if unit[field] ~= unit.was[field] then
      if unit[field] == nil then
        gone[#gone + 1] = field
      else
        set[#set + 1] = field
        set[#set + 1] = unit_numbers[field] and string.format('%.0f', unit[field]) or unit[field]
      end
    end
  end
  if #set > 0 then redis.call('hset', key('run', unit.run), unpack(set)) end
  if #gone > 0 then redis.call('hdel', key('run', unit.run), unpack(gone)) end
  if #set + #gone > 0 then change_sets(unit) end
end

-- The same, with when it is offered.
local function write_unit(unit)
  unit.ready_at = ready_at(unit)
  save_unit(unit)
end

-- The holder ended without a release, or seems to have.
local function count_death(unit)
  if unit.tries > 0 then unit.deaths, unit.died = (unit.deaths or 0) + 1, unit.token end
end

local function free_unit(unit)
  unit.lease, unit.owner, unit.expires_at = nil, nil, nil
  write_unit(unit)
end

-- With a token higher than any before, and the id that the caller has made for it.
local function lease_unit(unit, owner, ttl, id, tries)
  if unit.owner and unit.owner ~= owner then count_death(unit) end
  unit.tries = tries
  unit.token = redis.call('incr', prefix .. 'tokens')
  unit.lease, unit.owner, unit.expires_at = id, owner, now + ttl
  write_unit(unit)
  return unit.token
end

local function is_held(unit, token, lease)
  return unit and unit.token == token and unit.lease == lease
end

-- Whether the lease of a root is still as the caller has read it, who alone knows whether a process of its machine is gone.
local function next_is_as_read(root)
  for _, value in ipairs(redis.call('hmget', key('run', root), 'token', 'lease', 'expires_at')) do
    if next_argument() ~= (value or '') then return false end
  end
  return true
end

-- The roots of these lanes that are ready, but for those that the caller has, in the order in which they are claimed: those of the highest
-- priority first, then those that have been ready for the longest time.
local function ready_roots(lanes, limit, has, has_count, is_given)
  local chosen, is_seen = {}, {}
  for _, priority in ipairs({ '1', '0', '-1' }) do
    local left, ready = limit - #chosen, {}
    if left <= 0 then return chosen end
    for _, deaths in ipairs({ 0, 1 }) do
      for _, lane in ipairs(lanes) do
        local own = { crew = lane.crew, version = lane.version, format = lane.format, priority = priority, deaths = deaths }
        local name = lane_of(own)
        local found = is_seen[name] and {}
          or redis.call('zrangebyscore', name, '-inf', string.format('%.0f', now), 'withscores', 'limit', 0, left + has_count)
        is_seen[name] = true
        for index = 1, #found, 2 do
          if not has[found[index]] then
            ready[#ready + 1] = { run = found[index], lane = own, at = tonumber(found[index + 1]), place = #ready }
          end
        end
      end
    end
    -- the place, since a sort of Lua leaves those that are equal in any order
    table.sort(ready, function(a, b) return a.at < b.at or (a.at == b.at and a.place < b.place) end)
    for _, each in ipairs(ready) do
      if #chosen < limit and (not is_given or is_given(each.lane.deaths)) then chosen[#chosen + 1] = each end
    end
  end
  return chosen
end

local function next_lanes()
  return next_list(function() return { crew = next_argument(), version = next_argument(), format = next_argument() } end)
end

-- As an answer to whoever was refused: who may write instead.
local function holding_of(unit)
  if not unit then return { 'lease' } end
  return { 'lease', unit.token, unit.lease or '', unit.owner or '', unit.expires_at or 0 }
end

-- Those who watch are told that a run left its process, became ready or got a message. Steps are looked for.
local function tell(what, run)
  redis.call('publish', prefix .. 'told', what .. run)
end
`

const batch = `-- What create and append have in common: the parts of a batch, in the order in which batch-arguments.ts writes them.
local row_fields = {
  'crew', 'version', 'format', 'priority', 'status', 'created_at', 'updated_at', 'parent', 'inputs', 'summary',
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

-- In the place of a line that somebody removed by hand (redis-journal.ts).
local lost_line = '\\0lost'

-- Lists are ordered by bytes: by the time of creation and then by id.
local function place_of(row, run)
  return row.created_at .. '\\0' .. run
end
local function lists_of(row, root)
  local lists = { key('list', row.status), key('list', joined(row.status, row.crew)), key('unit', root) }
  if row.parent ~= '' then lists[#lists + 1] = key('made-from', row.parent) end
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

-- The row of a run, which replaces the one before. What belongs to the unit is written with the unit.
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

-- Lua passes no more than a few thousand values at once.
local most_values = 1000
local function push_lines(list, lines)
  for first = 1, #lines, most_values do
    redis.call('rpush', list, unpack(lines, first, math.min(first + most_values - 1, #lines)))
  end
end

-- What a batch adds to what a run has: a value that is there already is not stored again.
local function new_bytes(batch)
  local bytes, is_there = batch.bytes, {}
  for _, blob in ipairs(batch.blobs) do
    if is_there[blob.hash] or redis.call('hexists', key('blobs', batch.run), blob.hash) == 1 then bytes = bytes - #blob.bytes end
    is_there[blob.hash] = true
  end
  return bytes
end

-- Lines, blobs and outputs. \`seq\` is the number of the last entry then, and \`bytes\` what the run has.
local function write_batch(batch, crew, seq, bytes)
  local run = batch.run
  push_lines(key('lines', run), batch.lines)
  redis.call('hset', key('run', run), 'seq', seq, 'hash', batch.hash, 'bytes', bytes)
  for _, blob in ipairs(batch.blobs) do redis.call('hsetnx', key('blobs', run), blob.hash, blob.bytes) end
  for _, output in ipairs(batch.outputs) do
    local found = key('outputs', joined(crew, output.task, output.fingerprint))
    -- the last of those that were completed at the same time comes first
    local member = string.format('%016.0f:', redis.call('incr', prefix .. 'made')) .. output.seq .. ':' .. run
    redis.call('zadd', found, output.completed_at, member)
    redis.call('hset', key('outputs-of', run), member, found)
  end
end
`

export const scripts: { readonly [name in ScriptName]: string } = {
  acquire:
    common +
    `-- Takes the lease of a root, if it is still as the caller has read it. Answers with the token, or with 0.
local root = next_argument()
if not next_is_as_read(root) then return 0 end
local owner, ttl, id = next_argument(), next_number(), next_argument()
local unit = read_unit(root)
return lease_unit(unit, owner, ttl, id, math.max(1, unit.tries))
`,
  append:
    common +
    batch +
    `-- Appends to a run. Answers with 'appended' and how many messages wait for the unit, or with what is in the way, in the order in
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
`,
  claim:
    common +
    `-- Leases the roots of these lanes that are ready, or only one of them. Answers with run, token and id of each, in the order in which they
-- are offered.
local owner, ttl, id = next_argument(), next_number(), next_argument()
local limit, most = next_number(), next_number()
local has = {}
for _, run in ipairs(next_list(next_argument)) do has[run] = true end
local lanes = next_lanes()
local only = next_list(next_argument)[1]

local function held_runs()
  local count, crews = 0, {}
  for _, lane in ipairs(lanes) do
    if not crews[lane.crew] then
      crews[lane.crew] = true
      count = count + redis.call('zcount', key('held', lane.crew), '(' .. string.format('%.0f', now), '+inf')
    end
  end
  for run in pairs(has) do
    local head = redis.call('hmget', key('run', run), 'crew', 'expires_at')
    local is_counted = tonumber(head[2] or 0) > now
    if head[1] and crews[head[1]] and not is_counted then count = count + 1 end
  end
  return count
end

local places = limit
if most then places = math.min(limit, most - held_runs()) end
local has_count = 0
for _ in pairs(has) do has_count = has_count + 1 end

local function is_ready(run)
  local unit = not has[run] and read_unit(run)
  -- a run that works for another is never ready
  if not unit or not unit.ready_at or unit.ready_at > now then return false end
  for _, lane in ipairs(lanes) do
    if lane.crew == unit.crew and lane.version == unit.version and lane.format == unit.format then return true end
  end
  return false
end

local function holds_suspect()
  for _, run in ipairs(redis.call('smembers', key('held-by', owner))) do
    local head = redis.call('hmget', key('run', run), 'deaths', 'expires_at')
    if tonumber(head[1] or 0) > 0 and tonumber(head[2] or 0) > now then return true end
  end
  return false
end
-- one suspect, and none beside another
local is_suspect_given
local function is_given(deaths)
  if deaths == 0 then return true end
  if is_suspect_given == nil then is_suspect_given = holds_suspect() end
  local is = not is_suspect_given
  is_suspect_given = true
  return is
end

local chosen = {}
if not only then
  chosen = ready_roots(lanes, places, has, has_count, is_given)
elseif places > 0 and is_ready(only) and is_given(tonumber(redis.call('hget', key('run', only), 'deaths') or 0)) then
  chosen = { { run = only } }
end

local claimed = {}
for index, each in ipairs(chosen) do
  local unit = read_unit(each.run)
  local own = id .. '-' .. index
  claimed[index] = { each.run, lease_unit(unit, owner, ttl, own, unit.tries + 1), own }
end
return claimed
`,
  create:
    common +
    batch +
    `-- Creates a run, and leases it when asked to. Answers with 'created' and the token, or with what is in the way.
local batch = next_batch()
local most_bytes = next_number()
local asked = next_argument() -- 'nothing', 'lease' or 'under'
local is_root = batch.run == batch.root

if redis.call('exists', key('run', batch.run)) == 1 then return { 'exists' } end
local under
if asked == 'under' then
  local token, lease = next_number(), next_argument()
  under = read_unit(batch.root)
  if not is_held(under, token, lease) then return holding_of(under) end
end

local bytes = new_bytes(batch)
if bytes > most_bytes then return { 'full', bytes } end

local row = batch.row
write_row(batch)
write_batch(batch, row.crew, #batch.lines, bytes)
redis.call('hset', key('run', batch.run), 'root', batch.root, 'inbox', 0, 'born', redis.call('incr', prefix .. 'born'))
if not is_root then return { 'created', under and under.token or 0 } end

local unit = {
  run = batch.run, was = {}, token = 0, waiting = 0, tries = 0, due_at = due_of(batch),
  status = row.status, crew = row.crew, version = row.version, format = row.format, priority = row.priority,
}
if asked == 'lease' then
  local owner, ttl, id = next_argument(), next_number(), next_argument()
  return { 'created', lease_unit(unit, owner, ttl, id, 0) }
end
write_unit(unit)
if unit.ready_at then tell('c', batch.run) end
return { 'created', 0 }
`,
  delete:
    common +
    batch +
    `-- Deletes runs of one unit, with everything that belongs to them. Answers with 1, or with 0 when the lease or the unit is no longer as
-- the caller has read it.
local root = next_argument()
if not next_is_as_read(root) then return 0 end
if redis.call('zcard', key('unit', root)) ~= next_number() then return 0 end

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
`,
  free:
    common +
    `-- Takes the leases of owners whose processes are gone.
for _, owner in ipairs(next_list(next_argument)) do
  for _, run in ipairs(redis.call('smembers', key('held-by', owner))) do
    local unit = read_unit(run)
    if unit and unit.owner == owner then
      count_death(unit)
      free_unit(unit)
    end
  end
end
return 1
`,
  list:
    common +
    batch +
    `-- One piece of a listing, newest first: of these lists, which are ordered, between two places. Answers with the rows, each beginning with
-- its run, and where the next piece starts, if there may be one.
local lists = next_list(next_argument)
local from, to = next_argument(), next_argument()
local limit, only_roots = next_number(), next_argument() == '1'
local is_wanted, anything = {}, true
for _, status in ipairs(next_list(next_argument)) do
  is_wanted[status] = true
  anything = false
end
local crew, parent = next_argument(), next_argument()

-- By bytes, as the lists are ordered: Lua itself compares by the language of the server.
local function is_later(a, b)
  for index = 1, math.min(#a, #b) do
    local of_a, of_b = string.byte(a, index), string.byte(b, index)
    if of_a ~= of_b then return of_a > of_b end
  end
  return #a > #b
end

local pieces = {}
for index, name in ipairs(lists) do
  pieces[index] = { at = 1, places = redis.call('zrange', prefix .. name, to, from, 'bylex', 'rev', 'limit', 0, limit) }
end
local places = {}
for index = 1, limit do
  local newest
  for _, piece in ipairs(pieces) do
    local place = piece.places[piece.at]
    if place and (not newest or is_later(place, newest.places[newest.at])) then newest = piece end
  end
  if not newest then break end
  places[index] = newest.places[newest.at]
  newest.at = newest.at + 1
end

local rows = {}
for _, place in ipairs(places) do
  local run = string.sub(place, string.find(place, '\\0', 1, true) + 1)
  local row = read_row(run)
  local fits = row and (anything or is_wanted[row.status]) and (crew == '' or row.crew == crew)
    and (parent == '' or row.parent == parent)
  if fits and only_roots then fits = redis.call('hget', key('run', run), 'root') == run end
  if fits then
    local found = { run }
    for _, field in ipairs(row_fields) do found[#found + 1] = row[field] end
    rows[#rows + 1] = found
  end
end
return { rows, places[limit] or '' }
`,
  post:
    common +
    batch +
    `-- Leaves a message for a run, which wakes its root. Answers with 'posted', 'exists', 'ended', or 'unknown' and which run.
local run, root, message, body = next_argument(), next_argument(), next_argument(), next_argument()
local status = redis.call('hget', key('run', run), 'status')
if not status then return { 'unknown', run } end
local unit = read_unit(root)
if not unit then return { 'unknown', root } end
if redis.call('hexists', key('messages', run), message) == 1 then return { 'exists' } end
if is_ended(status) or is_ended(unit.status) then return { 'ended' } end

redis.call('hset', key('messages', run), message, body)
redis.call('zadd', key('inbox', run), redis.call('incr', prefix .. 'posted'), message)
redis.call('hincrby', key('run', run), 'inbox', 1)
unit.waiting = unit.waiting + 1
write_unit(unit)
tell('p', run)
return { 'posted' }
`,
  ready:
    common +
    `-- The roots of these lanes that are ready, in the order in which they are claimed. Answers with run, lane, priority and since when of each.
local limit = next_number()
local found = {}
for index, each in ipairs(ready_roots(next_lanes(), limit, {}, 0)) do
  local lane = each.lane
  found[index] = { each.run, lane.crew, lane.version, lane.format, lane.priority, string.format('%.0f', each.at) }
end
return found
`,
  release:
    common +
    `-- Gives a lease back. Answers with how many messages wait, or with -1 when there was nothing to give back. Told whatever becomes of the
-- run: another of its crew may wait for the place.
local run, token, lease = next_argument(), next_number(), next_argument()
local unit = read_unit(run)
if not is_held(unit, token, lease) then
  -- a holder that was only paused: it is alive
  if unit and unit.died == token and (unit.deaths or 0) > 0 then
    unit.deaths, unit.died = unit.deaths - 1, nil
    save_unit(unit)
  end
  return -1
end
free_unit(unit)
tell('c', run)
return unit.waiting
`,
  renew:
    common +
    `-- Extends leases, also expired ones that nobody took. Answers for each with how many messages wait, or with -1 when it is lost.
local ttl = next_number()
local answers = {}
for index, asked in ipairs(next_list(function() return { run = next_argument(), token = next_number(), lease = next_argument() } end)) do
  local unit = read_unit(asked.run)
  if is_held(unit, asked.token, asked.lease) then
    unit.expires_at = now + ttl
    write_unit(unit)
    answers[index] = unit.waiting
  else
    answers[index] = -1
  end
end
return answers
`,
  rights:
    common +
    batch +
    `-- Does once what the scripts do, with a key of its own: a user who may not do all of it is refused now, and never in the middle of a
-- script, where half of it would be written. Begins with what a server without memory does, too.
local tried = prefix .. 'rights'
redis.call('publish', prefix .. 'told', '')
redis.call('time')
redis.call('unlink', tried)
redis.call('hset', tried, 'a', 'a')
redis.call('hsetnx', tried, 'b', 1)
redis.call('hincrby', tried, 'b', 1)
redis.call('hget', tried, 'a')
redis.call('hmget', tried, 'a', 'b')
redis.call('hexists', tried, 'a')
redis.call('hgetall', tried)
redis.call('hdel', tried, 'a', 'b')
redis.call('set', tried, 1)
redis.call('get', tried)
redis.call('incr', tried)
redis.call('exists', tried)
redis.call('unlink', tried)
redis.call('rpush', tried, 'a')
redis.call('llen', tried)
redis.call('unlink', tried)
redis.call('sadd', tried, 'a')
redis.call('smembers', tried)
redis.call('srem', tried, 'a')
redis.call('zadd', tried, 0, 'a')
redis.call('zscore', tried, 'a')
redis.call('zcard', tried)
redis.call('zcount', tried, 0, 1)
redis.call('zrange', tried, 0, -1)
redis.call('zrangebyscore', tried, 0, 1)
redis.call('zrem', tried, 'a')
return 1
`,
}
