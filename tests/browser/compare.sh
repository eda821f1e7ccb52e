#!/bin/bash
# The pages that compare, in Chromium, apart from run.mjs's others so that
# each has time of its own; see test-compare.mjs.
cd "$(dirname "$0")/../.." || exit 1
exec node tests/browser/run.mjs --mock --set compare
