-- Reads one piece of a listing, newest first, merged from ordered lists between two positions. Returns the rows, each
-- beginning with its run, and where the next piece starts, if there may be one.
local lists = next_list(next_argument)
local from, to = next_argument(), next_argument()
local limit, only_roots = next_number(), next_argument() == '1'
local is_wanted, anything = {}, true
for _, status in ipairs(next_list(next_argument)) do
  is_wanted[status] = true
  anything = false
end
local crew, forked_from = next_argument(), next_argument()

-- Compares bytes, since the lists are ordered by bytes: Lua's own comparison depends on the server's locale.
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
  local run = string.sub(place, string.find(place, '\0', 1, true) + 1)
  local row = read_row(run)
  local fits = row and (anything or is_wanted[row.status]) and (crew == '' or row.crew == crew)
    and (forked_from == '' or row.forked_from == forked_from)
  if fits and only_roots then fits = redis.call('hget', key('run', run), 'root') == run end
  if fits then
    local found = { run }
    for _, field in ipairs(row_fields) do found[#found + 1] = row[field] end
    rows[#rows + 1] = found
  end
end
return { rows, places[limit] or '' }
