# For the tests of the allocator's library; sourced.

# sampled_less OUT [SERVICE] : by how much an error is larger where the library
# has sampled less often than each 512 KiB: as the driver says in the file OUT,
# at most in all slots.
sampled_less() {
	awk -v service="[${2:-}" '$1 == "gauge" && index($0, service) &&
		/memlens_heap_sampling_bytes/ && $NF > m { m = $NF }
		END { print sqrt((m ? m : 524288) / 524288) }' "$1"
}
