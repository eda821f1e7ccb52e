fn main() {
    println!("{} {}", hash_tool::of(2), bag::one());
}
