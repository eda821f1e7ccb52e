// Work for the table of kinds: a thread, a closure, a sort.
use std::hint::black_box;

#[inline(never)]
fn burn(n: u64, mut x: u64) -> u64 {
    for _ in 0..n {
        x = black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
    x
}

#[inline(never)]
fn heavy(x: u64) -> u64 {
    burn(300000, x) ^ 1
}

#[inline(never)]
fn light(x: u64) -> u64 {
    burn(100000, x) ^ 2
}

#[inline(never)]
fn sort_some(x: u64) -> u64 {
    let mut v: Vec<u64> = (0..1000u64).map(|i| (i ^ x).wrapping_mul(25214903917)).collect();
    v.sort_by(|a, b| black_box(a).cmp(b));
    v[7]
}

fn main() {
    std::thread::spawn(|| {
        let mut x = 1;
        loop {
            x = heavy(x) ^ light(x) ^ sort_some(x);
        }
    })
    .join()
    .unwrap();
}
