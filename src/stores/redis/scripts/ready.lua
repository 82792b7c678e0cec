-- Lists the ready roots of these lanes in claim order. Returns run, lane, priority and ready time of each.
local limit = next_number()
local found = {}
for index, each in ipairs(ready_roots(next_lanes(), limit, {}, 0)) do
  local lane = each.lane
  found[index] = { each.run, lane.crew, lane.version, lane.format, lane.priority, string.format('%.0f', each.at) }
end
return found
