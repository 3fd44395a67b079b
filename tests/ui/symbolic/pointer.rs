use gems_ops::prelude::*;

fn main() -> Result<()> {
    let x = SymbolicBuffer::new(DType::F32, &[2, 3], Device::Cpu)?;
    let address = x.address();
    let storage = x.storage();
    Ok(())
}
