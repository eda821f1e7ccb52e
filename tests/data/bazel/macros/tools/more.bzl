def deps_of(i):
    table = {0: [], 2: ["//client"]}
    return table.get(i, default = ["//client:plain"]) if type(i) == "int" else fail("no number")
