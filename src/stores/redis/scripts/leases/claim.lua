-- Leases the roots of these lanes that are ready: those of the highest priority first, then those that have been ready for the longest
-- time. Answers with run, token and id of each.
local owner, ttl, id = next_argument(), next_number(), next_argument()
local limit, most = next_number(), next_number()
local has = {}
for _, run in ipairs(next_list(next_argument)) do has[run] = true end
local lanes = next_list(function() return { crew = next_argument(), version = next_argument(), format = next_argument() } end)

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

local chosen, is_seen = {}, {}
for _, priority in ipairs({ '1', '0', '-1' }) do
  local ready = {}
  if #chosen < places then
    for _, lane in ipairs(lanes) do
      lane.priority = priority
      local name = lane_of(lane)
      local found = is_seen[name] and {}
        or redis.call('zrangebyscore', name, '-inf', string.format('%.0f', now), 'withscores', 'limit', 0, places - #chosen + has_count)
      is_seen[name] = true
      for index = 1, #found, 2 do
        if not has[found[index]] then ready[#ready + 1] = { run = found[index], at = tonumber(found[index + 1]) } end
      end
    end
    table.sort(ready, function(a, b) return a.at < b.at end)
  end
  for _, each in ipairs(ready) do
    if #chosen < places then chosen[#chosen + 1] = each.run end
  end
end

local claimed = {}
for index, run in ipairs(chosen) do
  local unit = read_unit(run)
  unit.tries = unit.tries + 1
  local own = id .. '-' .. index
  claimed[index] = { run, lease_unit(unit, owner, ttl, own), own }
end
return claimed
