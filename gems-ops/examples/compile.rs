//! The pointwise part of a transformer's MLP, traced and fused: the graph, what was joined, the CUDA it became, and the
//! function from its file.
#![expect(clippy::print_stdout, reason = "the example shows what it does")]

use gems_ops::trace::{Graph, Loaded};
use gems_ops::{REGISTRY, prelude::*};

/// Gate and up projection with biases, gelu gate, dropout by mask, residual: what stands between two matrix products.
fn mlp<B: Buffer>(gate: &B, up: &B, gate_bias: &B, up_bias: &B, residual: &B) -> Result<B> {
    let gate = add(gate, gate_bias)?;
    let up = add(up, up_bias)?;
    let hidden = gelu_and_mul(&gate, &up)?;
    add(&mul(&hidden, 0.5)?, residual)
}

fn main() -> Result<()> {
    let device = Device::best();
    println!("running on {device}\n");
    let f =
        compile(|[gate, up, gate_bias, up_bias, residual]| mlp(&gate, &up, &gate_bias, &up_bias, &residual));

    for tokens in [4usize, 32, 7] {
        let wide = |seed: f32| {
            let values: Vec<f32> = (0..tokens * 64).map(|i| (i as f32 * 0.37 + seed).sin()).collect();
            cast(&StridedBuffer::from_vec(values, &[tokens, 64])?.to_device(device)?, DType::BF16)
        };
        let row = |seed: f32| {
            let values: Vec<f32> = (0..64).map(|i| (i as f32 * 0.11 + seed).cos()).collect();
            cast(&StridedBuffer::from_vec(values, &[64])?.to_device(device)?, DType::BF16)
        };
        let (gate, up, residual) = (wide(0.1)?, wide(0.2)?, wide(0.3)?);
        let (gate_bias, up_bias) = (row(0.4)?, row(0.5)?);
        let eager = mlp(&gate, &up, &gate_bias, &up_bias, &residual)?;
        let fused = f.call([&gate, &up, &gate_bias, &up_bias, &residual])?;
        let same = ne(&eager, &fused)?.to_vec::<bool>()?.iter().all(|differs| !differs);
        assert!(same, "fusing changes no bit");
        println!("{tokens} tokens: the same bits as five eager calls");
        if tokens == 7 {
            let inputs = [&gate, &up, &gate_bias, &up_bias, &residual];
            let graph = f.graph(inputs)?;
            println!("\n{:?}\n\n{graph}\n{}", f.stats(), f.explain(inputs)?);
            println!("the graph for `dot -Tsvg`:\n{}", graph.dot());
            assert_eq!(Graph::parse(&graph.to_string(), REGISTRY.iter())?, graph, "it reads back");
            for source in f.cuda_sources(inputs)? {
                println!("{source}");
            }
            let path = std::env::temp_dir().join(format!("mlp-{}.gems", std::process::id()));
            f.save(&path)?;
            let loaded = Loaded::from_file(&path, REGISTRY.iter())?.call(&inputs)?;
            let same = ne(&loaded[0], &fused)?.to_vec::<bool>()?.iter().all(|differs| !differs);
            assert!(same && std::fs::remove_file(&path).is_ok());
            println!("the function from a file of its own gives the same bits");
        }
    }
    Ok(())
}
