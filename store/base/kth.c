/* Quickselect with the middle as pivot. */
#include "store/base/kth.h"

int128
kth_largest(int128 *a, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		int128 pivot = a[low + (high - low) / 2], swap;
		size_t i = low, j = high;

		for (;; i++, j--) {
			while (a[i] > pivot)
				i++;
			while (a[j] < pivot)
				j--;
			if (i >= j)
				break;
			swap = a[i];
			a[i] = a[j];
			a[j] = swap;
		}
		if (k - 1 <= j)
			high = j;
		else
			low = j + 1;
	}
	return a[low];
}
