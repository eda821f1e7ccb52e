// Work for the table of kinds: compiled functions, strings, a sort.
'use strict';
function heavy(n) {
	let s = 0;
	for (let i = 0; i < n; i++)
		s += i * i % 7;
	return s;
}
function texts(n) {
	const all = [];
	for (let i = 0; i < n; i++)
		all.push('text ' + i * 7919 % n);
	return all.sort().join('').length;
}
let sum = 0;
for (;;)
	sum = (sum + heavy(300000) + texts(2000)) % 1000;
