def _any(ctx):
    pass

any_rule = rule(
    implementation = _any,
    attrs = {
        "dep": attr.label(default = ":by_default"),
        "deps": attr.label_list(default = [":by_default_list"]),
        "tool": attr.label(cfg = "exec", default = ":unused"),
    },
)

flag = rule(
    implementation = _any,
    build_setting = config.string(flag = True),
)
