//! The name under which the user's crate knows gems.
//!
//! `gems-ops` if the crate depends on it, else `gems-runtime`, each under the name of the user's `Cargo.toml`; the option
//! `crate = path` overrides both.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};

use crate::errors::Errors;

/// Packages that have `__private`, the one with more in it first.
const PACKAGES: [(&str, &str); 2] = [("gems-ops", "gems_ops"), ("gems-runtime", "gems_runtime")];

/// The absolute path of `__private`.
pub(crate) fn private(krate: Option<&syn::Path>, errors: &Errors) -> TokenStream {
    if let Some(path) = krate {
        return quote!(#path::__private);
    }
    for (package, own_name) in PACKAGES {
        let name = match crate_name(package) {
            // Tests, examples and doctests of a package are crates of their own, which know it by this name.
            Ok(FoundCrate::Itself) => format_ident!("{own_name}"),
            Ok(FoundCrate::Name(name)) => format_ident!("{name}"),
            Err(_) => continue,
        };
        return quote!(::#name::__private);
    }
    errors.at_span(
        Span::call_site(),
        "this crate depends on neither `gems-ops` nor `gems-runtime`; add one, or say `crate = path::to::it`",
    );
    quote!(::gems_ops::__private)
}
