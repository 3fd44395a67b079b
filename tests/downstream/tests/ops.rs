//! The crate's own ops: what they became, and what they compute on views, against plain loops.

use downstream::{hill, ordered};
use kernels::prelude::*;

const ROWS: usize = 3;
const COLUMNS: usize = 5;

/// A matrix that is stored transposed, on the best device.
fn transposed(values: &[f32]) -> Result<StridedBuffer> {
    StridedBuffer::from_slice(values, &[COLUMNS, ROWS])?.to_device(Device::best())?.t()
}

fn values() -> Vec<f32> {
    (0..ROWS * COLUMNS).map(|i| 0.25 + i as f32 * 0.5).collect()
}

#[test]
fn the_kernel_of_hill_is_the_reviewed_text() -> Result<()> {
    insta::assert_snapshot!(hill::DEF.cuda_source()?);
    Ok(())
}

#[test]
fn a_transposed_matrix_meets_a_broadcast_row() -> Result<()> {
    let k = [0.5f32, 1.0, 2.0, 4.0, 8.0];
    let x = transposed(&values())?;
    let row = StridedBuffer::from_slice(&k, &[COLUMNS])?.to_device(Device::best())?;
    let y = hill(&x, &row, 3)?;
    assert_eq!(y.shape(), [ROWS, COLUMNS]);
    let mut expected = Vec::new();
    for r in 0..ROWS {
        for c in 0..COLUMNS {
            let x = values()[c * ROWS + r];
            let (bound, half) = (x * (x * x), k[c] * (k[c] * k[c]));
            expected.push(bound / (half + bound));
        }
    }
    // Products, sums and quotients are the same on every device.
    assert_eq!(y.to_vec::<f32>()?, expected);
    Ok(())
}

#[test]
fn every_second_column_backward_meets_a_column() -> Result<()> {
    let values: Vec<i64> = (0..24).map(|i| (i * 7) % 11 - 5).collect();
    let x = StridedBuffer::from_slice(&values, &[4, 6])?.to_device(Device::best())?;
    let view = x.slice(1, 0, isize::MAX, 2)?.flip(&[1])?;
    let (low, high) = ordered(&view, &x.narrow(1, 5, 1)?)?;
    let (mut least, mut greatest) = (Vec::new(), Vec::new());
    for r in 0..4 {
        for c in [4, 2, 0] {
            let (a, b) = (values[r * 6 + c], values[r * 6 + 5]);
            least.push(a.min(b));
            greatest.push(a.max(b));
        }
    }
    assert_eq!(low.to_vec::<i64>()?, least);
    assert_eq!(high.to_vec::<i64>()?, greatest);
    Ok(())
}

#[test]
fn a_call_without_memory_promises_what_the_real_one_gives() -> Result<()> {
    let x = transposed(&values())?;
    let promised = hill(&SymbolicBuffer::like(&x), 2.0, 4)?;
    assert_eq!(promised.meta(), hill(&x, 2.0, 4)?.meta());
    Ok(())
}

#[test]
fn in_place_writes_through_the_view() -> Result<()> {
    let mut x = StridedBuffer::from_vec(vec![1.0f32, 3.0, 1.0, 3.0], &[2, 2])?.to_device(Device::best())?;
    hill::inplace(&mut x.select(1, 0)?, 1.0, 2)?;
    assert_eq!(x.to_vec::<f32>()?, [0.5, 3.0, 0.5, 3.0]);
    x.write(&[1.0f32; 4])?;
    assert_eq!(x.to_vec::<f32>()?, [1.0; 4]);
    Ok(())
}

#[test]
fn wrong_operands_are_errors_that_name_the_op() -> Result<()> {
    let x = StridedBuffer::from_slice(&[1.0f32; 6], &[2, 3])?;
    let error = hill(&x, &x.t()?, 2).unwrap_err();
    assert_eq!((error.kind(), error.op()), (ErrorKind::Shape, Some("hill")));
    Ok(())
}
