def _made(ctx):
    pass

made = rule(
    implementation = _made,
    attrs = {
        "src": attr.label(allow_single_file = True),
        "word": attr.string(),
    },
    outputs = {
        "text": "%{name}.txt",
        "header": "%{name}_%{word}.h",
    },
)

own_test = rule(
    implementation = _made,
    attrs = {"src": attr.label(allow_single_file = True)},
    test = True,
)
