# Macros of the repository.
load(
    "//tools/parts:names.bzl",
    "SUFFIXES",
    "evens",
    names = "struct_of_names",
)
load(":more.bzl", "deps_of")

Info = provider(fields = ["files"])

def _listing_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.write(out, "\n".join([f.path for f in ctx.files.srcs]))
    return [DefaultInfo(files = depset([out])), Info(files = [out])]

listing = rule(
    implementation = _listing_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = True),
        "main": attr.label(),
        "weights": attr.label_keyed_string_dict(),
        "words": attr.string_list(),
        "result": attr.output(),
        "_tool": attr.label(default = "//tools:defs.bzl"),
        "helper": attr.label(cfg = "exec", executable = True),
    },
)

def parts(name, count = 3, extra = None, deps = [], **kwargs):
    """One library for each even number, and one that needs all of them."""
    made = []
    for i in evens(count):
        part = names.joined(name, str(i)) if i > 0 else name + "_zero"
        native.cc_library(
            name = part,
            srcs = ["%s/%s%d.c" % (names.prefix, "p", i)],
            hdrs = native.glob(["part/*{}.h".format(i)]),
            deps = deps_of(i),
        )
        made += [":" + part]
    if extra != None:
        made.append(extra)
    elif count:
        made.append("//client:{kind}".format(kind = "plain"))
    kwargs.setdefault("linkstatic", True)
    native.cc_library(
        name = name,
        deps = made + deps,
        **kwargs
    )
    for n, suffix in enumerate(SUFFIXES):
        native.filegroup(
            name = name + suffix,
            srcs = [native.package_name().split("/")[-1] + str(n) + ".in"],
        )

FAST = Label("//client:fast")
