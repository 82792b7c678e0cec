-- Gives a lease back. Answers with how many messages wait, or with -1 when there was nothing to give back. Told whatever becomes of the
-- run: another of its crew may wait for the place.
local run, token, lease = next_argument(), next_number(), next_argument()
local unit = read_unit(run)
if not is_held(unit, token, lease) then return -1 end
free_unit(unit)
tell('c', run)
return unit.waiting
