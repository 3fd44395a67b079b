use gems_ops::prelude::*;

fn read<B: Buffer>(x: &B) -> u64 {
    x.address() + x.meta().address()
}

fn main() {}
