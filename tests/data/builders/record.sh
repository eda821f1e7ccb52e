#!/bin/sh
# Records what cargo says of the crates here, for machines without it: run by
# hand.  crates.json is what memlens graph reads, crates.tree what cargo
# itself draws of it, without what only tests need.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here/crates" "$work/crates"
cd "$work/crates/shop"
cargo metadata --format-version 1 --offline |
	sed "s|$work/crates|/src/crates|g" >"$here/crates.json"
cargo tree --offline --edges no-dev --target all --prefix depth |
	sed "s| ([^)]*)||g" >"$here/crates.tree"
