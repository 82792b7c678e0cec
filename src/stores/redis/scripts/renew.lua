-- Extends leases, expired or not, unless another process took them. Returns for each how many messages wait, or -1 if it was lost.
local ttl = next_number()
local answers = {}
for index, asked in ipairs(next_list(function() return { run = next_argument(), token = next_number(), lease = next_argument() } end)) do
  local tree = read_tree(asked.run)
  if is_held(tree, asked.token, asked.lease) then
    tree.expires_at = now + ttl
    write_tree(tree)
    answers[index] = tree.waiting
  else
    answers[index] = -1
  end
end
return answers
