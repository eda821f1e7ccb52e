# Work for the table of kinds: the interpreter's loop, strings, a sort.
use strict;
sub heavy {
	my $s = 0;
	$s += $_ * $_ % 7 for 0 .. $_[0];
	return $s;
}
sub texts {
	my $n = $_[0];
	return length(join('', sort map { 'text ' . $_ * 7919 % $n } 0 .. $n));
}
while (1) {
	heavy(30000) + texts(5000);
}
