-- Takes the lease of a root, if it is still as the caller has read it. Answers with the token, or with 0.
local root = next_argument()
if not next_is_as_read(root) then return 0 end
local owner, ttl, id = next_argument(), next_number(), next_argument()
local unit = read_unit(root)
return lease_unit(unit, owner, ttl, id, math.max(1, unit.tries))
