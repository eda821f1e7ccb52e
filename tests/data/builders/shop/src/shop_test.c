#include "store.h"

int
main(void)
{
	return store_sum(2) < 0;
}
