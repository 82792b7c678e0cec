-- Gives a lease back. Answers with how many messages wait, or with -1 when there was nothing to give back. Told whatever becomes of the
-- run: another of its crew may wait for the place.
local run, token, lease = next_argument(), next_number(), next_argument()
local unit = read_unit(run)
if not is_held(unit, token, lease) then
  -- a holder that was only paused: it is alive
  if unit and unit.died == token and (unit.deaths or 0) > 0 then
    unit.deaths, unit.died = unit.deaths - 1, nil
    save_unit(unit)
  end
  return -1
end
free_unit(unit)
tell('c', run)
return unit.waiting
