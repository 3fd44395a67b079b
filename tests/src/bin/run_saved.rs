//! A process that did not trace a function and runs it from its file, on the CPU without any library of NVIDIA.
//!
//! Arguments: the file, the device, and how many elements. Prints the bits of the results, then the libraries that were
//! loaded.
#![expect(clippy::print_stdout, reason = "its output is what the tests read")]

use gems_ops::{REGISTRY, prelude::*};
use gems_runtime::trace::Loaded;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    let device =
        if arguments.get(2).is_some_and(|device| device == "cuda") { Device::Cuda(0) } else { Device::Cpu };
    let function = match Loaded::from_file(arguments.get(1).map_or("", String::as_str), REGISTRY.iter()) {
        Ok(function) => function,
        Err(error) => {
            println!("{:?}: {error}", error.kind());
            return Ok(());
        }
    };
    let n = number(3);
    let values = |seed: f32| -> Result<StridedBuffer> {
        let values: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37 + seed).sin()).collect();
        StridedBuffer::from_vec(values, &[n])?.to_device(device)
    };
    // The second call takes the way of known layouts.
    for _ in 0..2 {
        for result in function.call(&[&values(0.1)?, &values(0.2)?])? {
            let bits: Vec<u32> = result.to_vec::<f32>()?.into_iter().map(f32::to_bits).collect();
            println!("{bits:?}");
        }
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let compilers = maps.lines().filter(|line| line.contains("libnvrtc")).count();
    println!("NVRTC loaded: {}", compilers > 0);
    println!("driver loaded: {}", maps.contains("libcuda"));
    Ok(())
}
