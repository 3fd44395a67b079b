//! Functions that were traced in another process.
//!
//! Saving writes every form that a function was traced for, with the kernels that ran; loading gives a function that
//! runs them without tracing, and on a GPU of the same kind without a compiler.

use super::file::{self, Content, FormText, KernelImage};
use super::forms::Forms;
use super::ops::Ops;
use crate::buffer::{Buffer, StridedBuffer};
use crate::compile;
#[cfg(feature = "cuda")]
use crate::compile::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{BackEnds, Results};
use crate::op::OpDef;
use crate::trace::{Form, Graph, Options, Values};
use std::path::Path;
use std::sync::Arc;

/// A function from a file.
#[derive(Debug)]
pub struct Loaded {
    forms: Forms<Form>,
}

impl Loaded {
    /// The function in a file that [`Compiled::save`](crate::trace::Compiled::save) wrote. Its ops are found by name among
    /// `ops`, as in `REGISTRY.iter().chain([mine::DEF])`.
    ///
    /// # Errors
    /// `Io` if the file can't be read; `Value` if it is damaged, of another version of gems, or names an op that is not
    /// given or has another formula now.
    pub fn from_file(
        path: impl AsRef<Path>,
        ops: impl IntoIterator<Item = &'static OpDef>,
    ) -> Result<Loaded> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| io(path, "read", error))?;
        let refused = |why: String| Error::new(ErrorKind::Value, format!("{} {why}", path.display()));
        let content = file::decode(&bytes).map_err(|fault| refused(fault.to_owned()))?;
        if content.version != VERSION {
            return Err(refused(format!(
                "was saved by gems {}, and this is {VERSION}; save the function again with this version",
                content.version
            )));
        }
        let ops = Ops::new(ops);
        let forms = Forms::<Form>::default();
        for form in &content.forms {
            let options = Options::from_text(&form.options)
                .ok_or_else(|| refused(format!("has unknown options `{}`", form.options)))?;
            let graph = Graph::read(&form.graph, &ops)
                .map_err(|error| refused(format!("cannot be used: {error}")))?;
            forms.add(Form::new(graph, options));
        }
        ship(content.kernels);
        Ok(Loaded { forms })
    }

    /// Calls the function.
    ///
    /// # Errors
    /// `Guard` if the inputs have none of the forms that were saved; a device that fails.
    pub fn call(&self, inputs: &[&StridedBuffer]) -> Result<Vec<StridedBuffer>> {
        let mut results = Results::new();
        if let Some(done) = self.forms.again(inputs, &mut results) {
            return done.map(|()| results.into_vec());
        }
        let (form, values) = self.find(inputs)?;
        self.forms.first(&form, &values, inputs).map(|results| results.into_vec())
    }

    /// [`Loaded::call`] on other back ends than those of the devices.
    ///
    /// # Errors
    /// As [`Loaded::call`].
    #[doc(hidden)]
    pub fn run_on(&self, back_ends: BackEnds, inputs: &[&StridedBuffer]) -> Result<Vec<StridedBuffer>> {
        self.find(inputs)?.0.run_on(back_ends, inputs)
    }

    fn find(&self, inputs: &[&StridedBuffer]) -> Result<(Arc<Form>, Values)> {
        self.forms.find(inputs).ok_or_else(|| {
            let given: Vec<String> = inputs.iter().map(|input| format!("{:?}", input.meta())).collect();
            let message = format!(
                "the function was saved for {} forms, and {} is of none of them; call it with such inputs before saving it",
                self.forms.all().len(),
                given.join(", ")
            );
            Error::new(ErrorKind::Guard, message)
        })
    }

    /// The graphs, one a form, in the order in which they were traced.
    #[must_use]
    pub fn graphs(&self) -> Vec<Graph> {
        self.forms.all().iter().map(|form| form.graph.clone()).collect()
    }
}

/// Writes forms to a file, in one step.
///
/// # Errors
/// `Value` if there is none; `Io` if the file can't be written.
pub(super) fn save(forms: &[&Form], path: &Path) -> Result<()> {
    if forms.is_empty() {
        let message = "the function was not called yet, so there is nothing to save; call it with inputs like those to come";
        return Err(Error::new(ErrorKind::Value, message));
    }
    let mut kernels: Vec<KernelImage> = Vec::new();
    for form in forms {
        kernels.extend(form.images()?);
    }
    kernels.sort_by(|a, b| (&a.source, arch(a)).cmp(&(&b.source, arch(b))));
    kernels.dedup();
    let form = |form: &Form| FormText { options: form.options.to_text(), graph: form.graph.to_string() };
    let content =
        Content { version: VERSION.to_owned(), forms: forms.iter().copied().map(form).collect(), kernels };
    let bytes = file::encode(&content);
    compile::publish(path, |file| compile::write_synced(file, &bytes))
        .map_err(|error| io(path, "written", error))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn arch(kernel: &KernelImage) -> Option<compile::Arch> {
    kernel.binary.as_ref().map(|(arch, _)| *arch)
}

/// Hands binaries to the compiler of this process.
#[cfg(feature = "cuda")]
fn ship(kernels: Vec<KernelImage>) {
    for kernel in kernels {
        if let Some((arch, binary)) = kernel.binary {
            Compiler::get().ship(&kernel.source, arch, binary);
        }
    }
}

#[cfg(not(feature = "cuda"))]
fn ship(kernels: Vec<KernelImage>) {
    tracing::debug!("{} kernels of a saved function are not used without CUDA", kernels.len());
}

fn io(path: &Path, what: &str, error: std::io::Error) -> Error {
    let message = format!("{} cannot be {what}: {error}; give a path that can", path.display());
    Error::new(ErrorKind::Io, message).with_source(error)
}
