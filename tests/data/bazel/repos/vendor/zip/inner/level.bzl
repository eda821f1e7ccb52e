LEVELS = ["%d" % (1 << i) for i in range(0, 4, 2)]
