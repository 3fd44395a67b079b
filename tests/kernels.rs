//! Every kernel of the case list as reviewed text.

use gems_runtime::emit;
use gems_tests::cases;
use std::collections::BTreeSet;

#[test]
fn every_kernel_is_the_reviewed_text() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("kernels");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for case in cases::all() {
            let plan = case.plan().unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let source = emit::source(&plan.spec).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            insta::assert_snapshot!(case.name.clone(), source.text);
        }
    });
}

#[test]
fn the_case_list_is_broad_and_names_no_kernel_twice() {
    let cases = cases::all();
    let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), cases.len());
    assert!(cases.len() >= 60, "{} kernels", cases.len());
}
