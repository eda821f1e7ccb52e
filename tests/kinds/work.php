<?php
// Work for the table of kinds: the interpreter's loop, strings, a sort.
function heavy($n)
{
	$s = 0;
	for ($i = 0; $i < $n; $i++)
		$s += $i * $i % 7;
	return $s;
}

function texts($n)
{
	$all = [];
	for ($i = 0; $i < $n; $i++)
		$all[] = 'text ' . $i * 7919 % $n;
	sort($all);
	return strlen(implode('', $all));
}

for (;;)
	heavy(30000) + texts(5000);
