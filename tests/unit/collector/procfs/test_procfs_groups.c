/*
 * Sums over processes: births, deaths, moves between services, values that
 * go back, against a naive model.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "collector/procfs/procfs_groups.h"
#include "tests/unit/test.h"

#define CPU (1u << GROUP_USER)
#define IO (1u << GROUP_READ_BYTES)

static void
add(struct groups *g, uint64_t serial, const char *service, uint64_t cpu)
{
	CHECK(groups_add(g, &(struct group_reading){.serial = serial,
	    .service = service, .count = {[GROUP_USER] = cpu},
	    .have_count = CPU}));
}

static const struct group *
find(struct groups *g, const char *service)
{
	size_t n;
	const struct group *all = groups_end(g, &n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(all[i].service, service) == 0)
			return &all[i];
	}
	return NULL;
}

TEST(birth_and_death)
{
	struct groups *g = groups_new();
	const struct group *kv;

	groups_begin(g);
	add(g, 1, "kv", 100);
	add(g, 2, "kv", 50);
	kv = find(g, "kv");
	CHECK_INT(kv->processes, 2);
	CHECK_INT(kv->increase[GROUP_USER], 0); /* the base line */
	CHECK_INT(kv->raw[GROUP_USER], 150);
	groups_begin(g);
	add(g, 2, "kv", 53); /* 1 is dead */
	add(g, 3, "kv", 7);  /* born since: all of it counts */
	kv = find(g, "kv");
	CHECK_INT(kv->processes, 2);
	CHECK_INT(kv->increase[GROUP_USER], 10);
	groups_begin(g);
	CHECK(find(g, "kv") == NULL);
	groups_free(g);
}

/* Each process is read at its own time: that of the one that grew most says
 * when the group did. */
TEST(an_increase_says_when_it_grew)
{
	struct groups *g = groups_new();
	struct group_reading r[] = {
	    {.serial = 1, .service = "kv", .have_count = CPU | IO,
	        .read_ns = {1000, 1500}},
	    {.serial = 2, .service = "kv", .have_count = CPU,
	        .read_ns = {1200, 0}}};
	const struct group *kv;

	groups_begin(g);
	CHECK(groups_add(g, &r[0]) && groups_add(g, &r[1]));
	groups_begin(g);
	r[0].count[GROUP_USER] = 3;
	r[0].count[GROUP_READ_BYTES] = 7;
	r[0].read_ns[GROUP_STAT] = 5000;
	r[0].read_ns[GROUP_DETAILS] = 9500;
	r[1].count[GROUP_USER] = 400;
	r[1].read_ns[GROUP_STAT] = 9000;
	CHECK(groups_add(g, &r[0]) && groups_add(g, &r[1]));
	kv = find(g, "kv");
	CHECK_INT(kv->increase[GROUP_USER], 403);
	CHECK_INT(kv->span[GROUP_USER].from_ns, 1200);
	CHECK_INT(kv->span[GROUP_USER].until_ns, 9000);
	CHECK_INT(kv->span[GROUP_READ_BYTES].from_ns, 1500);
	CHECK_INT(kv->span[GROUP_READ_BYTES].until_ns, 9500);
	groups_begin(g);
	r[0].serial = 3; /* born since: no longer ago than the last reading */
	r[0].read_ns[GROUP_STAT] = 9900;
	CHECK(groups_add(g, &r[0]));
	kv = find(g, "kv");
	CHECK_INT(kv->span[GROUP_USER].from_ns, 9500);
	CHECK_INT(kv->span[GROUP_USER].until_ns, 9900);
	groups_free(g);
}

TEST(values_that_go_back)
{
	struct groups *g = groups_new();

	groups_begin(g);
	add(g, 1, "kv", 100);
	groups_end(g, &(size_t){0});
	groups_begin(g);
	add(g, 1, "kv", 99);
	CHECK_INT(find(g, "kv")->increase[GROUP_USER], 0);
	groups_begin(g);
	add(g, 1, "kv", 102);
	CHECK_INT(find(g, "kv")->increase[GROUP_USER], 2);
	groups_free(g);
}

/* What was not read this time keeps its last value, and nothing is lost. */
TEST(details_now_and_then)
{
	struct groups *g = groups_new();
	struct group_reading r = {.serial = 5, .service = "db",
	    .have_count = CPU | IO, .have_level = 1u << GROUP_SWAPPED,
	    .level = {[GROUP_SWAPPED] = 4096},
	    .count = {[GROUP_READ_BYTES] = 1000}};

	groups_begin(g);
	groups_add(g, &r);
	groups_end(g, &(size_t){0});
	groups_begin(g);
	r.have_count = CPU;
	r.have_level = 0;
	r.count[GROUP_READ_BYTES] = 0;
	groups_add(g, &r);
	CHECK_INT(find(g, "db")->increase[GROUP_READ_BYTES], 0);
	CHECK_INT(find(g, "db")->level[GROUP_SWAPPED], 4096);
	CHECK((find(g, "db")->have_count & IO) != 0);
	groups_begin(g);
	r.have_count = CPU | IO;
	r.count[GROUP_READ_BYTES] = 1500;
	groups_add(g, &r);
	CHECK_INT(find(g, "db")->increase[GROUP_READ_BYTES], 500);
	groups_free(g);
}

/* One that nobody has waited for: its last values are over, what it did until
 * its end is not. */
TEST(a_zombie_has_no_memory_and_is_no_process)
{
	struct groups *g = groups_new();
	struct group_reading r = {.service = "kv", .have_count = CPU,
	    .have_level = 1u << GROUP_RESIDENT,
	    .level = {[GROUP_RESIDENT] = 4096}, .count = {[GROUP_USER] = 7}};
	const struct group *kv;

	for (int zombies = 0; zombies <= 2; zombies++) {
		groups_begin(g);
		for (r.serial = 1; r.serial <= 2; r.serial++) {
			r.zombie = (int)r.serial <= zombies;
			r.have_level = (uint32_t)!r.zombie << GROUP_RESIDENT;
			r.count[GROUP_USER]++;
			groups_add(g, &r);
		}
		kv = find(g, "kv");
		CHECK(kv != NULL);
		if (kv == NULL)
			break;
		CHECK_INT(kv->processes, 2 - zombies);
		CHECK_INT(kv->level[GROUP_RESIDENT], 4096 * (2 - zombies));
		CHECK_INT(kv->have_level, zombies < 2 ? 1u << GROUP_RESIDENT
		    : 0);
		CHECK_INT(kv->increase[GROUP_USER], zombies == 0 ? 0 : 4);
	}
	groups_free(g);
}

/* 60 processes of 6 services live, die and are born; what each group grew by
 * is kept here too. */
/* What is read once a minute says how old its oldest part is. */
TEST(the_oldest_part_of_a_sum_says_when_it_was_read)
{
	struct groups *g = groups_new();
	struct group_reading r = {.service = "db",
	    .level = {[GROUP_PROPORTIONAL] = 4096}};
	const struct group *db;
	static const int64_t oldest[] = {0, 100, 100, 100, 200, 200};

	for (int i = 1; i <= 5; i++) {
		groups_begin(g);
		/* 1 at first, 2 at the second reading, 1 again at the fourth;
		 * 3 never, 1 is gone at the fifth */
		for (r.serial = 1 + (i == 5); r.serial <= 3; r.serial++) {
			bool now = (r.serial == 1 && (i == 1 || i == 4)) ||
			    (r.serial == 2 && i == 2);

			r.have_level = now ? 1u << GROUP_PROPORTIONAL : 0;
			r.proportional_ns = now ? i * 100 : 0;
			groups_add(g, &r);
		}
		db = find(g, "db");
		CHECK(db != NULL);
		CHECK_INT(db != NULL ? db->proportional_ns : -1, oldest[i]);
		CHECK_INT(db != NULL ? db->level[GROUP_PROPORTIONAL] : -1,
		    i == 1 || i == 5 ? 4096 : 8192);
	}
	groups_free(g);
}

TEST(naive_model)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	struct groups *g = groups_new();
	uint64_t serial[60], cpu[60], next = 1, want[6], living[6];
	int service[60];
	bool told[60];

	srandom(3);
	for (int i = 0; i < 60; i++) {
		serial[i] = next++;
		cpu[i] = (uint64_t)random() % 1000;
		service[i] = random() % 6;
		told[i] = false;
	}
	for (int round = 0; round < 500; round++) {
		memset(want, 0, sizeof(want));
		memset(living, 0, sizeof(living));
		groups_begin(g);
		for (int i = 0; i < 60; i++) {
			uint64_t more = (uint64_t)random() % 50;

			if (random() % 40 == 0) {
				serial[i] = next++;
				cpu[i] = 0;
				told[i] = false;
				service[i] = random() % 6;
			}
			if (random() % 100 == 0)
				service[i] = random() % 6; /* exec */
			cpu[i] += more;
			if (told[i])
				want[service[i]] += more;
			else if (round > 0)
				want[service[i]] += cpu[i];
			told[i] = true;
			living[service[i]]++;
			add(g, serial[i], names[service[i]], cpu[i]);
		}
		for (int s = 0; s < 6; s++) {
			const struct group *k = find(g, names[s]);

			CHECK_INT(k ? k->processes : 0, living[s]);
			CHECK_INT(k ? k->increase[GROUP_USER] : 0, want[s]);
		}
	}
	groups_free(g);
}

int
main(void)
{
	RUN(birth_and_death);
	RUN(an_increase_says_when_it_grew);
	RUN(values_that_go_back);
	RUN(details_now_and_then);
	RUN(a_zombie_has_no_memory_and_is_no_process);
	RUN(the_oldest_part_of_a_sum_says_when_it_was_read);
	RUN(naive_model);
	return test_done();
}
