//! Which memory the operands of a call may share.
//!
//! Guarantees that eager and symbolic calls refuse the same operands with the same words. Knows memory by identity and
//! address as plain numbers.

use crate::buffer::Meta;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{self, Overlap, Region};
use crate::op::OpDef;

/// An operand and where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// Its description.
    pub meta: &'a Meta,
    /// What its address is relative to; operands of different spaces share nothing.
    pub space: usize,
    /// Address of the element of index 0, in bytes.
    pub address: u64,
}

impl Placed<'_> {
    pub(crate) fn overlap(&self, input: &Placed<'_>) -> Overlap {
        if self.space == input.space { layout::overlap(self.region(), input.region()) } else { Overlap::None }
    }

    fn region(&self) -> Region<'_> {
        Region { address: self.address, element_size: self.meta.dtype.size(), layout: &self.meta.layout }
    }
}

/// No output overlaps itself or another output. Outputs whose place is not known are left out.
///
/// # Errors
/// `Overlap`.
pub fn check_outputs(op: &OpDef, outputs: &[Option<Placed<'_>>]) -> Result<()> {
    let placed = || op.outputs.iter().zip(outputs).filter_map(|(def, output)| Some((def.name, (*output)?)));
    for (i, (name, output)) in placed().enumerate() {
        if layout::has_internal_overlap(&output.meta.layout) {
            let message = format!(
                "elements of output `{name}` ({}) share memory; give an output without overlap",
                output.meta
            );
            return Err(Error::new(ErrorKind::Overlap, message));
        }
        for (other_name, other) in placed().take(i) {
            if output.overlap(&other) != Overlap::None {
                let message =
                    format!("outputs `{other_name}` and `{name}` share memory; give separate outputs");
                return Err(Error::new(ErrorKind::Overlap, message));
            }
        }
    }
    Ok(())
}

/// How an output, by its position, shares memory with an input.
///
/// # Errors
/// `Overlap` if they share elements at different indices.
pub fn sharing(op: &OpDef, output: (usize, Placed<'_>), input: (usize, Placed<'_>)) -> Result<Overlap> {
    let ((output, placed), (input, read)) = (output, input);
    let overlap = placed.overlap(&read);
    if overlap == Overlap::Partial {
        let message = format!(
            "output `{}` ({}) overlaps input `{}` ({}) partly; pass the same view for in-place, or a separate output",
            op.outputs.get(output).map_or("", |def| def.name),
            placed.meta,
            op.params.get(input).map_or("", |param| param.name),
            read.meta
        );
        return Err(Error::new(ErrorKind::Overlap, message));
    }
    Ok(overlap)
}
