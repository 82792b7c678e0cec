-- One piece of a listing, newest first: of these lists, which are ordered, between two places. Answers with the rows, each beginning with
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

local places = {}
for _, name in ipairs(lists) do
  for _, place in ipairs(redis.call('zrange', prefix .. name, to, from, 'bylex', 'rev', 'limit', 0, limit)) do
    places[#places + 1] = place
  end
end
table.sort(places, function(a, b) return a > b end)

local rows = {}
for index = 1, math.min(limit, #places) do
  local run = string.sub(places[index], string.find(places[index], '\0', 1, true) + 1)
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
return { rows, #places >= limit and places[math.min(limit, #places)] or '' }
