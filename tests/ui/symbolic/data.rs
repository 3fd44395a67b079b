use gems_ops::prelude::*;

fn main() -> Result<()> {
    let x = SymbolicBuffer::new(DType::F32, &[2, 3], Device::Cpu)?;
    let values = tanh(&x)?.to_vec::<f32>()?;
    let first = x.select(0, 0)?.item::<f32>()?;
    Ok(())
}
