-- Leases the ready roots of these lanes, or only one root. Returns run, token and id of each lease, in claim order.
local owner, ttl, id = next_argument(), next_number(), next_argument()
local limit, crew_limit = next_number(), next_number()
local excluded = {}
for _, run in ipairs(next_list(next_argument)) do excluded[run] = true end
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
  for run in pairs(excluded) do
    local head = redis.call('hmget', key('run', run), 'crew', 'expires_at')
    local is_counted = tonumber(head[2] or 0) > now
    if head[1] and crews[head[1]] and not is_counted then count = count + 1 end
  end
  return count
end

local places = limit
if crew_limit then places = math.min(limit, crew_limit - held_runs()) end
local excluded_count = 0
for _ in pairs(excluded) do excluded_count = excluded_count + 1 end

local function is_ready(run)
  local tree = not excluded[run] and read_tree(run)
  -- a child run is never ready
  if not tree or not tree.ready_at or tree.ready_at > now then return false end
  for _, lane in ipairs(lanes) do
    if lane.crew == tree.crew and lane.version == tree.version and lane.format == tree.format then return true end
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
-- an owner holds at most one suspect
local has_suspect
local function may_claim(deaths)
  if deaths == 0 then return true end
  if has_suspect == nil then has_suspect = holds_suspect() end
  local may = not has_suspect
  has_suspect = true
  return may
end

local chosen = {}
if not only then
  chosen = ready_roots(lanes, places, excluded, excluded_count, may_claim)
elseif places > 0 and is_ready(only) and may_claim(tonumber(redis.call('hget', key('run', only), 'deaths') or 0)) then
  chosen = { { run = only } }
end

local claimed = {}
for index, each in ipairs(chosen) do
  local tree = read_tree(each.run)
  local own = id .. '-' .. index
  claimed[index] = { each.run, lease_tree(tree, owner, ttl, own, tree.tries + 1), own }
end
return claimed
