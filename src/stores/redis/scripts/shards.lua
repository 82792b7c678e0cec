-- Notes the shards that the store is one of, if what is noted is still as the caller has read it: other ones where there is no run. Answers
-- with 1, or with 0 when it has changed.
local before, where_empty, where_not = next_argument(), next_argument(), next_argument()
local noted = prefix .. 'shards'
if (redis.call('get', noted) or '') ~= before then return 0 end
local is_empty = true
for _, status in ipairs(next_list(next_argument)) do
  if redis.call('exists', key('list', status)) == 1 then is_empty = false end
end
redis.call('set', noted, is_empty and where_empty or where_not)
return 1
