-- Takes the leases of owners whose processes are gone.
for _, owner in ipairs(next_list(next_argument)) do
  for _, run in ipairs(redis.call('smembers', key('held-by', owner))) do
    local unit = read_unit(run)
    if unit and unit.owner == owner then
      count_death(unit)
      free_unit(unit)
    end
  end
end
return 1
