-- Releases a lease. Returns how many messages wait, or -1 if the lease was no longer held. Notifies even if the run
-- isn't ready: another run of its crew may wait for `crewLimit`.
local run, token, lease = next_argument(), next_number(), next_argument()
local tree = read_tree(run)
if not is_held(tree, token, lease) then
  -- corrects a counted death: the holder was only paused
  if tree and tree.death_token == token and (tree.deaths or 0) > 0 then
    tree.deaths, tree.death_token = tree.deaths - 1, nil
    save_tree(tree)
  end
  return -1
end
free_tree(tree)
notify('c', run)
return tree.waiting
