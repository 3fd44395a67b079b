use gems_ops::prelude::*;

#[pointwise_dynamic(outputs(p, q, r), grad)]
fn f<T: Float>(
    a: T,
    b: T,
    c: T,
    d: T,
    e: T,
    f: T,
    g: T,
    h: T,
    i: T,
    j: T,
    k: T,
    l: T,
    m: T,
    n: T,
    o: T,
    s: T,
    t: T,
    u: T,
    v: T,
    w: T,
    x: T,
) -> (T, T, T) {
    (a * b * c * d * e * f * g, h * i * j * k * l * m * n, o * s * t * u * v * w * x)
}

fn main() {}
