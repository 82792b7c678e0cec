-- Extends leases, also expired ones that nobody took. Answers for each with how many messages wait, or with -1 when it is lost.
local ttl = next_number()
local answers = {}
for index, asked in ipairs(next_list(function() return { run = next_argument(), token = next_number(), lease = next_argument() } end)) do
  local unit = read_unit(asked.run)
  if is_held(unit, asked.token, asked.lease) then
    unit.expires_at = now + ttl
    write_unit(unit)
    answers[index] = unit.waiting
  else
    answers[index] = -1
  end
end
return answers
