pub fn one() -> &'static str {
    "one"
}
