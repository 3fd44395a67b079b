use gems_ops::prelude::*;

fn main() -> Result<()> {
    let x = SymbolicBuffer::new(DType::F32, &[2, 3], Device::Cpu)?;
    let y = StridedBuffer::zeros(DType::F32, &[2, 3], Device::Cpu)?;
    let z = add(&x, &y)?;
    Ok(())
}
