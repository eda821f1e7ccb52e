# A graph as bazel prints it: n targets in packages of 20.  A package is needed
# by one to three before it, a target by one of its own package or of those,
# and now and then by a second one.
BEGIN {
	srand(7)
	print "digraph mygraph {\n  node [shape=box];"
	for (i = 0; i < n; i++) {
		p = int(i / 20)
		name[i] = sprintf("//lib/p%02d/sub%d:target_%03d", p, p % 5, i)
		if (i % 20 == 0)
			users[p] = 1 + int(rand() * 3)
		for (k = 0; i % 20 == 0 && p > 0 && k < users[p]; k++)
			user[p, k] = int(p * (0.3 + 0.7 * rand()) * 0.999)
	}
	for (i = 1; i < n; i++) {
		print_edge(above(i), i)
		if (rand() < 0.7)
			print_edge(above(i), i)
	}
	print "}"
}

# A target that may need target i.
function above(i,    p, q)
{
	p = int(i / 20)
	if (i % 20 > 0 && (p == 0 || rand() < 0.7))
		return 20 * p + int(rand() * (i % 20))
	q = user[p, int(rand() * users[p])]
	return 20 * q + int(rand() * 20)
}

function print_edge(a, b)
{
	if (!((a, b) in printed))
		printf "  \"%s\" -> \"%s\"\n", name[a], name[b]
	printed[a, b] = 1
}
