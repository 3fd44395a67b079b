//! What the attributes refuse, one misuse a file, and what they accept, one construct a file.
//!
//! `TRYBUILD=overwrite` writes the expected messages anew.

#[test]
fn every_misuse_has_its_message() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    cases.compile_fail("ui/*.rs");
    cases.compile_fail("ui/option/*.rs");
    cases.compile_fail("ui/signature/*.rs");
    cases.compile_fail("ui/body/*.rs");
    cases.compile_fail("ui/device_fn/*.rs");
    cases.compile_fail("ui/grad/*.rs");
    cases.compile_fail("ui/type/*.rs");
}
