-- Functions that all scripts share: arguments, names of keys, the clock, and the records of roots. Scripts have no
-- rollback, so each script checks everything before its first write. KEYS[1] is the prefix of all keys. It is in
-- braces, so that a cluster would keep them together.
local prefix = KEYS[1]

-- Reads the arguments in order. A missing value is an empty string.
local argument = 0
local function next_argument()
  argument = argument + 1
  return ARGV[argument]
end
local function next_number()
  return tonumber(next_argument())
end
-- A list begins with its length.
local function next_list(read)
  local list = {}
  for index = 1, next_number() do list[index] = read() end
  return list
end

-- In milliseconds since 1970: the clock of a test, or this server's.
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
-- Joins names so that different lists of names become different strings.
local function joined(...)
  local parts = {}
  for index, name in ipairs({ ... }) do parts[index] = #name .. ':' .. name end
  return table.concat(parts)
end

local function is_ended(status)
  return status == 'completed' or status == 'cancelled'
end

-- The record of a root: the lease of its tree, and what decides when it is ready (rules/ready.ts).
local tree_fields = {
  'token', 'lease', 'owner', 'expires_at', 'due_at', 'waiting', 'tries', 'deaths', 'death_token', 'ready_at',
  'status', 'crew', 'version', 'format', 'priority',
}
local tree_numbers = {
  token = true, expires_at = true, due_at = true, waiting = true, tries = true, deaths = true, death_token = true,
  ready_at = true,
}

-- The record of a root; false if there is none. `was` holds the stored values.
local function read_tree(root)
  local values = redis.call('hmget', key('run', root), unpack(tree_fields))
  local tree = { run = root, was = {} }
  for index, field in ipairs(tree_fields) do
    local value = values[index] or nil
    if tree_numbers[field] then value = tonumber(value) end
    tree[field] = value
    tree.was[field] = value
  end
  return tree.status and tree
end

-- 0 to 999, from the bytes of the id.
local function jitter_of(run)
  local sum = 0
  for index = 1, #run do sum = sum + string.byte(run, index) * index end
  return sum * 619 % 1000
end

local doubling_limit = 9
local function ready_at(tree)
  if is_ended(tree.status) then return nil end
  local due = tree.waiting > 0 and now or tree.due_at
  if not due then return nil end
  local expires_at = tree.expires_at or 0
  if tree.tries < 2 then return math.max(due, expires_at) end
  return math.max(due, now, expires_at) + 2 ^ math.min(tree.tries - 2, doubling_limit) * (1000 + jitter_of(tree.run))
end

-- Suspects, which are roots with deaths, have lanes of their own, since a claim takes at most one.
local function lane_of(tree)
  local kind = (tree.deaths or 0) > 0 and 'suspects' or 'lane'
  return key(kind, joined(tree.crew, tree.version, tree.format, tree.priority))
end

-- Updates the sets of ready roots, of owners, and of held roots.
local function change_sets(tree)
  local was = tree.was
  if was.status and was.ready_at then
    local lane = lane_of(was)
    if not tree.ready_at or lane ~= lane_of(tree) then redis.call('zrem', lane, tree.run) end
  end
  if tree.ready_at then redis.call('zadd', lane_of(tree), tree.ready_at, tree.run) end
  if was.owner and was.owner ~= tree.owner then
    redis.call('srem', key('held-by', was.owner), tree.run)
    if redis.call('exists', key('held-by', was.owner)) == 0 then redis.call('zrem', prefix .. 'owners', was.owner) end
  end
  if was.owner and (not tree.owner or was.crew ~= tree.crew) then redis.call('zrem', key('held', was.crew), tree.run) end
  if tree.owner then
    if was.owner ~= tree.owner then
      redis.call('sadd', key('held-by', tree.owner), tree.run)
      redis.call('zadd', prefix .. 'owners', 0, tree.owner)
    end
    redis.call('zadd', key('held', tree.crew), tree.expires_at, tree.run)
  end
end

-- Writes the changed fields.
local function save_tree(tree)
  local set, gone = {}, {}
  for _, field in ipairs(tree_fields) do
    if tree[field] ~= tree.was[field] then
      if tree[field] == nil then
        gone[#gone + 1] = field
      else
        set[#set + 1] = field
        set[#set + 1] = tree_numbers[field] and string.format('%.0f', tree[field]) or tree[field]
      end
    end
  end
  if #set > 0 then redis.call('hset', key('run', tree.run), unpack(set)) end
  if #gone > 0 then redis.call('hdel', key('run', tree.run), unpack(gone)) end
  if #set + #gone > 0 then change_sets(tree) end
end

-- Writes the changed fields, and computes when the root is ready.
local function write_tree(tree)
  tree.ready_at = ready_at(tree)
  save_tree(tree)
end

-- Counts a death: the holder ended, or seems to have ended, without a release.
local function count_death(tree)
  if tree.tries > 0 then tree.deaths, tree.death_token = (tree.deaths or 0) + 1, tree.token end
end

local function free_tree(tree)
  tree.lease, tree.owner, tree.expires_at = nil, nil, nil
  write_tree(tree)
end

-- Leases a root under a new token. The caller chooses the id of the lease.
local function lease_tree(tree, owner, ttl, id, tries)
  if tree.owner and tree.owner ~= owner then count_death(tree) end
  tree.tries = tries
  tree.token = redis.call('incr', prefix .. 'tokens')
  tree.lease, tree.owner, tree.expires_at = id, owner, now + ttl
  write_tree(tree)
  return tree.token
end

local function is_held(tree, token, lease)
  return tree and tree.token == token and tree.lease == lease
end

-- Whether the lease of a root is still as the caller read it. The caller has decided that the lease may be taken: a
-- script cannot know whether a holder still runs.
local function is_lease_unchanged(root)
  for _, value in ipairs(redis.call('hmget', key('run', root), 'token', 'lease', 'expires_at')) do
    if next_argument() ~= (value or '') then return false end
  end
  return true
end

-- The ready roots of these lanes, except excluded roots, in claim order: highest priority first, then the longest
-- ready. Calls `may_claim`, if there is one, for each: with 1 for a suspect, with 0 for others.
local function ready_roots(lanes, limit, excluded, excluded_count, may_claim)
  local chosen, is_seen = {}, {}
  for _, priority in ipairs({ '1', '0', '-1' }) do
    local left, ready = limit - #chosen, {}
    if left <= 0 then return chosen end
    for _, deaths in ipairs({ 0, 1 }) do
      for _, lane in ipairs(lanes) do
        local own = { crew = lane.crew, version = lane.version, format = lane.format, priority = priority, deaths = deaths }
        local name = lane_of(own)
        local found = is_seen[name] and {}
          or redis.call('zrangebyscore', name, '-inf', string.format('%.0f', now), 'withscores', 'limit', 0, left + excluded_count)
        is_seen[name] = true
        for index = 1, #found, 2 do
          if not excluded[found[index]] then
            ready[#ready + 1] = { run = found[index], lane = own, at = tonumber(found[index + 1]), place = #ready }
          end
        end
      end
    end
    -- also by place, since Lua's sort isn't stable
    table.sort(ready, function(a, b) return a.at < b.at or (a.at == b.at and a.place < b.place) end)
    for _, each in ipairs(ready) do
      if #chosen < limit and (not may_claim or may_claim(each.lane.deaths)) then chosen[#chosen + 1] = each end
    end
  end
  return chosen
end

local function next_lanes()
  return next_list(function() return { crew = next_argument(), version = next_argument(), format = next_argument() } end)
end

-- The reply to a caller without the lease: the current lease.
local function holding_of(tree)
  if not tree then return { 'lease' } end
  return { 'lease', tree.token, tree.lease or '', tree.owner or '', tree.expires_at or 0 }
end

-- Notifies watchers that a run stopped being executed, became ready, or got a message. Steps are polled.
local function notify(what, run)
  redis.call('publish', prefix .. 'notices', what .. run)
end
