# Work for the table of kinds: the interpreter's loop, strings, a sort.
def heavy(n)
  s = 0
  n.times { |i| s += i * i % 7 }
  s
end

def texts(n)
  (0...n).map { |i| "text #{i * 7919 % n}" }.sort.join.length
end

loop { heavy(30000) + texts(5000) }
