#!/bin/sh
# Records what bazel itself says of the projects here: PROJECT.graph, which
# unit/test_graph_workspace compares with what we read of their BUILD files.  Run
# by hand where bazel is (4.2.3: bazel-bootstrap); rules of the network's
# repositories are stood in for, as a query does not run them.
#
#   record.sh [PROJECT TARGET]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
record()
{
	cp -r "$here/$1" "$work/$1"
	mkdir -p "$work/$1/.stub/cc"
	cd "$work/$1"
	for name in rules_cc remote_coverage_tools; do
		echo "local_repository(name = \"$name\", path = \".stub\")"
	done >>WORKSPACE
	touch .stub/WORKSPACE .stub/cc/BUILD
	printf 'filegroup(name = "%s", visibility = ["//visibility:public"])\n' \
		coverage_report_generator >.stub/BUILD
	for rule in cc_library cc_binary cc_test cc_toolchain \
		cc_toolchain_suite; do
		printf 'def %s(**k):\n    native.%s(**k)\n' $rule $rule
	done >.stub/cc/defs.bzl
	bazel --output_user_root="${BAZEL_ROOT:-$work/root}" query \
		--notool_deps --noimplicit_deps --output graph \
		--nograph:factored "deps($2)" >"$here/$1.graph"
	# its server would stay for hours
	bazel --output_user_root="${BAZEL_ROOT:-$work/root}" shutdown
	wc -l "$here/$1.graph"
}
if [ $# = 2 ]; then
	record "$1" "$2"
else
	record shop //app:shop
	record macros //server
	record repos //:all_of_it
	record odd //:all_of_it
	record any //:all_of_it
	record ways //:all_of_it
fi
