-- Leases the roots of these lanes that are ready, or only one of them. Answers with run, token and id of each, in the order in which they
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
