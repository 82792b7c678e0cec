-- Deletes runs of one tree, with everything that belongs to them. Returns 1, or 0 if the lease or the tree has changed
-- since the caller read it.
local root = next_argument()
if not is_lease_unchanged(root) then return 0 end
if redis.call('zcard', key('tree', root)) ~= next_number() then return 0 end

local tree = read_tree(root)
local gone = next_list(next_argument)
for _, run in ipairs(gone) do
  -- first the commands that remove data: after them, a server with full memory lets the script add data
  local row = read_row(run)
  if row then unlist(row, run, root) end
  local left = tonumber(redis.call('hget', key('run', run), 'inbox') or 0)
  if run == root then
    -- an ended root is never ready, so free_tree takes it out of its lane
    tree.status = 'cancelled'
    free_tree(tree)
    tree = nil
  elseif tree and left > 0 then
    tree.waiting = tree.waiting - left
  end
  local outputs = redis.call('hgetall', key('outputs-of', run))
  for index = 1, #outputs, 2 do redis.call('zrem', outputs[index + 1], outputs[index]) end
  for _, kind in ipairs({ 'run', 'lines', 'blobs', 'messages', 'inbox', 'outputs-of' }) do redis.call('unlink', key(kind, run)) end
  notify('c', run)
end
if tree and #gone > 0 then write_tree(tree) end
return 1
