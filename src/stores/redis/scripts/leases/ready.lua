-- How many roots of these lanes are ready, counted up to a limit.
local limit = next_number()
local count, is_seen = 0, {}
for _, lane in ipairs(next_list(function() return { crew = next_argument(), version = next_argument(), format = next_argument() } end)) do
  for _, priority in ipairs({ '1', '0', '-1' }) do
    lane.priority = priority
    local name = lane_of(lane)
    if not is_seen[name] then
      is_seen[name] = true
      count = count + redis.call('zcount', name, '-inf', string.format('%.0f', now))
    end
  end
end
return math.min(count, limit)
