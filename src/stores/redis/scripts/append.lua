-- Appends to a run. Returns 'appended' and how many messages wait for the tree, or the reason for a refusal. The checks
-- are in the same order as in every store.
local batch = next_batch()
local token, lease, after = next_number(), next_argument(), next_number()
local progress, most_bytes = next_argument() == '1', next_number()
local run, root, row = batch.run, batch.root, batch.row

local held = redis.call('hmget', key('run', root), 'token', 'lease', 'waiting', 'tries')
if tonumber(held[1]) ~= token or held[2] ~= lease then return holding_of(read_tree(root)) end
local head = redis.call('hmget', key('run', run), 'status', 'seq', 'inbox', 'crew', 'bytes')
local status, seq, inbox = head[1], tonumber(head[2]), tonumber(head[3])
if not status then return { 'unknown' } end
local lines = redis.call('llen', key('lines', run))
local last = math.max(lines, seq or 0)
if last ~= after then return { 'seq', last } end
local opens = row and status == 'completed' and not is_ended(row.status)
if is_ended(status) and not opens then return { 'ended', status } end
local taken, is_taken = {}, {}
for _, message in ipairs(batch.taken) do
  if not is_taken[message] and redis.call('zscore', key('inbox', run), message) then taken[#taken + 1] = message end
  is_taken[message] = true
end
if row and row.status == 'completed' and inbox > #taken then
  for _, message in ipairs(redis.call('zrange', key('inbox', run), 0, -1)) do
    if not is_taken[message] then return { 'inbox', message } end
  end
end
local bytes = tonumber(head[5] or 0) + new_bytes(batch)
if bytes > most_bytes then return { 'full', bytes } end
-- messages to a cancelled run no longer wait
local gone = row and row.status == 'cancelled' and inbox or #taken
-- a plain step changes the root's record only if it resets the tries
local changes = (row and run == root) or gone > 0 or (progress and held[4] ~= '0')
local tree = changes and read_tree(root)

-- the numbers of lines that were removed by hand are not issued again
for _ = lines + 1, after do redis.call('rpush', key('lines', run), lost_line) end
-- first the commands that add data: a server with full memory refuses them only before a script's first write
write_batch(batch, row and row.crew or head[4], after + #batch.lines, bytes)
if row then write_row(batch, read_row(run)) end
for _, message in ipairs(taken) do
  redis.call('zrem', key('inbox', run), message)
  -- the id stays, since it is unique forever
  redis.call('hset', key('messages', run), message, '')
end
if gone > 0 then redis.call('hincrby', key('run', run), 'inbox', -gone) end
if tree then
  tree.waiting = tree.waiting - gone
  if progress then tree.tries, tree.deaths, tree.death_token = 0, nil, nil end
  if row and run == root then
    tree.due_at = due_of(batch)
    tree.status, tree.crew, tree.version = row.status, row.crew, row.version
    tree.format, tree.priority = row.format, row.priority
  end
  write_tree(tree)
end
if row and row.status ~= 'running' and row.status ~= 'queued' then notify('c', run) end
return { 'appended', tree and tree.waiting or tonumber(held[3]) }
