-- Takes the lease of a root, if it has not changed since the caller read it. Returns the token, or 0.
local root = next_argument()
if not is_lease_unchanged(root) then return 0 end
local owner, ttl, id = next_argument(), next_number(), next_argument()
local tree = read_tree(root)
return lease_tree(tree, owner, ttl, id, math.max(1, tree.tries))
