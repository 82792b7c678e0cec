-- Extends leases, expired or not, unless another process took them. Returns for each lease how many messages wait, or
-- -1 if the lease was lost.
local ttl = next_number()
local function next_lease()
  return { run = next_argument(), token = next_number(), lease = next_argument() }
end
local replies = {}
for index, asked in ipairs(next_list(next_lease)) do
  local tree = read_tree(asked.run)
  if is_held(tree, asked.token, asked.lease) then
    tree.expires_at = now + ttl
    write_tree(tree)
    replies[index] = tree.waiting
  else
    replies[index] = -1
  end
end
return replies
