def _rule(ctx):
    return []

def _turn(settings, attr):
    return {"//command_line_option:cpu": "other"}

_other = transition(
    implementation = _turn,
    inputs = [],
    outputs = ["//command_line_option:cpu"],
)

turned = rule(
    _rule,
    attrs = {
        "dep": attr.label(cfg = _other, allow_files = True),
        "_whitelist_function_transition": attr.label(
            default = "@bazel_tools//tools/whitelists/function_transition_whitelist",
        ),
    },
)
