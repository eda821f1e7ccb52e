/*
 * A pull from a neighbour that answers at once.  Compiled into this test,
 * because no library holds the scraper.
 */
#include <netinet/in.h>
#include <unistd.h>

#include "collector/scrape/scrape_config.c" /* NOLINT: see above */
#include "collector/scrape/scrape_take.c" /* NOLINT */
#include "collector/scrape/scrape_target.c" /* NOLINT */
#include "store/batch/batch.h"
#include "tests/unit/test.h"

/* Listens on a free port of the loopback. */
static int
listen_somewhere(char *url, size_t size)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 4) == 0 &&
	    getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	snprintf(url, size, "http://127.0.0.1:%d/metrics", ntohs(a.sin_port));
	return fd;
}

static void
answer(int fd, struct http *http)
{
	static const char said[] = "HTTP/1.1 302 Found\r\nLocation: /x\r\n"
	    "Content-Length: 0\r\n\r\n";
	char request[1000];
	int c = accept(fd, NULL, NULL);

	CHECK(c >= 0);
	while (recv(c, request, sizeof(request), MSG_DONTWAIT) < 0)
		http_wait(http, c, 1000);
	CHECK(write(c, said, sizeof(said) - 1) == sizeof(said) - 1);
	close(c);
}

static int64_t
last_of(const struct batch *b, const char *name)
{
	struct label labels[8];
	struct series_desc d;

	for (size_t i = 0; i < b->n_blocks; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, labels, 8);
		if (strcmp(d.name, name) == 0)
			return b->blocks[i].last;
	}
	return -1;
}

/* It took 0 s where the answer was there in the step that had begun. */
TEST(an_answer_at_once_takes_time_all_the_same)
{
	char url[80];
	int fd = listen_somewhere(url, sizeof(url));
	struct scrape_config config = {.interval_ns = NS_PER_S,
	    .deadline_ns = 60 * NS_PER_S, .max_samples = 10};
	char name[] = "t", instance[] = "i";
	struct http_place place;
	struct scrape_target_config said = {.name = name,
	    .instance = instance, .pages = {NULL, &place}};
	int64_t now = clock_mono_ns(), wall = clock_wall_ns();
	struct meter *m = meter_new(10 * NS_PER_S);
	struct batch *b = batch_new(10 * NS_PER_S);
	struct scrape_counts counts = {0};
	struct scrape_target t;
	struct http *http;

	CHECK_OK(http_place_parse(&place, url, true));
	CHECK_OK(http_new(&http, "test", NULL));
	scrape_target_init(&t, &config, &said, http, now);
	scrape_target_step(&t, m, &counts, wall, now);
	answer(fd, http);
	while (t.busy) {
		http_wait(http, -1, 1000);
		scrape_target_step(&t, m, &counts, wall, now);
	}
	meter_close(m, (uint64_t)(wall / (10 * NS_PER_S)), b);
	CHECK_INT(last_of(b, "memlens_scrape_up"), 0);
	CHECK(last_of(b, "memlens_scrape_duration_seconds") > 0);
	scrape_target_fini(&t);
	http_free(http);
	batch_free(b);
	meter_free(m);
	close(fd);
}

/* Or the scraper would ask it all the time whether it is due. */
TEST(of_a_target_with_profiles_alone_no_page_is_due)
{
	char name[] = "t", instance[] = "i";
	struct scrape_target_config said = {.name = name,
	    .instance = instance};
	struct scrape_config config = {.interval_ns = NS_PER_S};
	struct scrape_counts counts = {0};
	struct scrape_target t;

	scrape_target_init(&t, &config, &said, NULL, 5);
	CHECK(scrape_target_due_ns(&t) == INT64_MAX);
	scrape_target_step(&t, NULL, &counts, 7, 7);
	CHECK(scrape_target_due_ns(&t) == INT64_MAX);
	scrape_target_fini(&t);
}

int
main(void)
{
	RUN(of_a_target_with_profiles_alone_no_page_is_due);
	RUN(an_answer_at_once_takes_time_all_the_same);
	return test_done();
}
