-- What all scripts begin with: the names of keys, the clock, and units. A script has no rollback, so each checks everything before
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
