pub fn of(n: u64) -> u64 {
    n * 31
}
