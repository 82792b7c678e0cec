-- Creates a run, and leases it on request. Returns 'created' and the token, or the reason for a refusal.
local batch = next_batch()
local most_bytes = next_number()
local asked = next_argument() -- 'nothing', 'lease' or 'under'
local is_root = batch.run == batch.root

if redis.call('exists', key('run', batch.run)) == 1 then return { 'exists' } end
local under
if asked == 'under' then
  local token, lease = next_number(), next_argument()
  under = read_tree(batch.root)
  if not is_held(under, token, lease) then return holding_of(under) end
end

local bytes = new_bytes(batch)
if bytes > most_bytes then return { 'full', bytes } end

local row = batch.row
write_row(batch)
write_batch(batch, row.crew, #batch.lines, bytes)
redis.call('hset', key('run', batch.run), 'root', batch.root, 'inbox', 0, 'born', redis.call('incr', prefix .. 'born'))
if not is_root then return { 'created', under and under.token or 0 } end

local tree = {
  run = batch.run, was = {}, token = 0, waiting = 0, tries = 0, due_at = due_of(batch),
  status = row.status, crew = row.crew, version = row.version, format = row.format, priority = row.priority,
}
if asked == 'lease' then
  local owner, ttl, id = next_argument(), next_number(), next_argument()
  return { 'created', lease_tree(tree, owner, ttl, id, 0) }
end
write_tree(tree)
if tree.ready_at then notify('c', batch.run) end
return { 'created', 0 }
