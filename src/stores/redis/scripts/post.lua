-- Leaves a message for a run, which wakes its root. Returns 'posted', 'exists', 'ended', or 'unknown' and the missing
-- run.
local run, root, message, body = next_argument(), next_argument(), next_argument(), next_argument()
local status = redis.call('hget', key('run', run), 'status')
if not status then return { 'unknown', run } end
local tree = read_tree(root)
if not tree then return { 'unknown', root } end
if redis.call('hexists', key('messages', run), message) == 1 then return { 'exists' } end
if is_ended(status) or is_ended(tree.status) then return { 'ended' } end

redis.call('hset', key('messages', run), message, body)
redis.call('zadd', key('inbox', run), redis.call('incr', prefix .. 'posted'), message)
redis.call('hincrby', key('run', run), 'inbox', 1)
tree.waiting = tree.waiting + 1
write_tree(tree)
notify('p', run)
return { 'posted' }
