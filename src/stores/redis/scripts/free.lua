-- Frees the leases of owners whose processes no longer run.
for _, owner in ipairs(next_list(next_argument)) do
  for _, run in ipairs(redis.call('smembers', key('held-by', owner))) do
    local tree = read_tree(run)
    if tree and tree.owner == owner then
      count_death(tree)
      free_tree(tree)
    end
  end
end
return 1
