-- Work for the table of kinds: the interpreter's loop, strings, a sort.
local function heavy(n)
	local s = 0
	for i = 1, n do s = s + i * i % 7 end
	return s
end
local function texts(n)
	local all = {}
	for i = 1, n do all[i] = 'text ' .. i * 7919 % n end
	table.sort(all)
	return #table.concat(all)
end
while true do
	heavy(30000)
	texts(5000)
end
