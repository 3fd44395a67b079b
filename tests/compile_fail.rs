//! What does not compile, one misuse a file; what the attributes accept is in `accepted`.
//!
//! `TRYBUILD=overwrite` writes the expected messages anew. There are no cases that pass: with one, trybuild would build
//! every dependency a second time instead of checking it.

#[test]
fn every_misuse_has_its_message() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
    cases.compile_fail("ui/option/*.rs");
    cases.compile_fail("ui/signature/*.rs");
    cases.compile_fail("ui/body/*.rs");
    cases.compile_fail("ui/device_fn/*.rs");
    cases.compile_fail("ui/grad/*.rs");
    cases.compile_fail("ui/type/*.rs");
    cases.compile_fail("ui/symbolic/*.rs");
}
