//! C libraries that are loaded at run time, each as a table of functions.
//!
//! Guarantees: a table is complete or is not made, so a missing symbol is found when the library is loaded and never
//! when it is called.

use std::path::Path;

use libloading::Library;

/// Declares `struct Functions` with one field a row, and `Functions::of`, which fills it from a library.
///
/// The rows are `field: "symbol" = fn(types) -> type;`. Expands to a struct of `unsafe extern "C"` function pointers.
macro_rules! functions {
    ($($name:ident: $symbol:literal = fn($($arg:ty),*) -> $ret:ty;)*) => {
        /// Functions of the library, one field each.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> $ret,)*
        }

        impl Functions {
            /// The functions of this library, or the first symbol that it lacks.
            fn of(library: &libloading::Library) -> std::result::Result<Functions, libloading::Error> {
                Ok(Functions {
                    $($name: {
                        // SAFETY: the row repeats the declaration in the vendor's header for this symbol, whose ABI
                        // is fixed by the version suffix in its name or by the vendor's promise of compatibility.
                        *unsafe { library.get::<unsafe extern "C" fn($($arg),*) -> $ret>($symbol.as_bytes()) }?
                    },)*
                })
            }
        }
    };
}

pub(crate) use functions;

/// Opens a library by path, or by bare name on the loader's path.
#[expect(unsafe_code, reason = "loading runs the initializers of a library")]
pub(crate) fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: only ever called for NVIDIA's driver and compiler, whose initializers need no preparation.
    unsafe { Library::new(path) }
}
