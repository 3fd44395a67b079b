//! Graphs as data: text that reads back, DOT, and what is refused.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::{REGISTRY, prelude::*};
use gems_runtime::trace::{Graph, Options, trace};
use num_complex::Complex;

/// The graph of a function of a f32[3, 4] and a f32[4].
fn graph(function: impl Fn(&SymbolicBuffer, &SymbolicBuffer) -> Result<Vec<SymbolicBuffer>>) -> Graph {
    let x = StridedBuffer::zeros(DType::F32, &[3, 4], Device::Cpu).unwrap();
    let row = StridedBuffer::zeros(DType::F32, &[4], Device::Cpu).unwrap();
    trace(&[&x, &row], Options::default(), |inputs| function(&inputs[0], &inputs[1])).unwrap().graph().clone()
}

fn names(graph: &Graph) -> Vec<&'static str> {
    graph.ops().iter().map(|op| op.name()).collect()
}

#[track_caller]
fn refused(text: &str, because: &str) {
    let error = Graph::parse(text, REGISTRY.iter()).unwrap_err();
    assert!(error.kind() == ErrorKind::Value && error.to_string().contains(because), "{error}");
}

#[test]
fn a_graph_is_text_and_a_drawing() {
    let graph = graph(|x, row| {
        let mut view = x.slice(1, 1, isize::MAX, 1)?.flip(&[0])?;
        let scaled = mul(&tanh(&view)?, 0.5)?;
        add::inplace(&mut view, &scaled)?;
        let wide = cast(&add(x, row)?, DType::F64)?;
        Ok(vec![scaled.t()?, wide])
    });
    insta::with_settings!({ snapshot_path => "kernels", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("graph_text", graph.to_string());
        insta::assert_snapshot!("graph_dot", graph.dot());
    });
    let again = Graph::parse(&graph.to_string(), REGISTRY.iter()).unwrap();
    assert_eq!(again, graph);
    assert_eq!((again.dot(), again.guards().len()), (graph.dot(), graph.guards().len()));
}

/// Marks that join letters may stand in names of functions.
#[pointwise_dynamic]
fn क्षमा<T: Float>(x: T) -> T {
    x + 1
}

#[pointwise_dynamic(name = "größer_als_π")]
fn second<T: Float>(x: T) -> T {
    x - 1
}

#[test]
fn names_of_any_script_read_back() {
    let graph = graph(|x, _| Ok(vec![second(&क्षमा(x)?)?]));
    let again = Graph::parse(&graph.to_string(), [क्षमा::DEF, second::DEF]).unwrap();
    assert_eq!(again, graph);
    assert_eq!(names(&again), ["क्षमा", "größer_als_π"]);
}

#[test]
fn several_results_in_one_empty_memory_are_text() {
    let graph = graph(|x, _| {
        let y = neg(&x.narrow(0, 0, 0)?)?;
        sincos::out(&x.narrow(0, 0, 0)?, &mut y.clone(), &mut y.clone())?;
        Ok(vec![y])
    });
    assert_eq!(names(&graph), ["sincos"]);
    assert_eq!(Graph::parse(&graph.to_string(), REGISTRY.iter()).unwrap(), graph);
}

#[test]
fn numbers_keep_their_kind_and_bits() {
    let numbers = [
        Scalar::Bool(true),
        Scalar::I64(i64::MIN),
        Scalar::U64(u64::MAX),
        Scalar::U64(3),
        Scalar::F64(-0.0),
        Scalar::F64(f64::NEG_INFINITY),
        Scalar::F64(f64::from_bits(0xfff8_0000_0000_0001)),
        Scalar::F64(1e300),
        Scalar::F64(f64::MIN_POSITIVE / 3.0),
        Scalar::C128(Complex::new(f64::NAN, -1.5)),
    ];
    for number in numbers {
        let graph = graph(|x, _| Ok(vec![add(x, number)?]));
        assert_eq!(Graph::parse(&graph.to_string(), REGISTRY.iter()).unwrap(), graph, "{number}");
    }
    let zeros = [0.0, -0.0].map(|zero| graph(|x, _| Ok(vec![add(x, zero)?])));
    assert_ne!(zeros[0], zeros[1]);
}

#[test]
fn dead_ops_and_repeated_ones_are_left_out() {
    let repeated = graph(|x, row| Ok(vec![mul(&tanh(x)?, &add(&tanh(x)?, row)?)?]));
    assert_eq!(names(&repeated), ["tanh", "add", "mul"]);
    let overwritten = graph(|x, row| {
        let mut out = tanh(x)?;
        exp::out(x, &mut out)?;
        neg(row)?;
        add(&out, row).map(|sum| vec![sum])
    });
    assert_eq!(names(&overwritten), ["exp", "add"]);
    let other_number = graph(|x, _| Ok(vec![mul(&add(x, 0.0)?, &add(x, -0.0)?)?]));
    assert_eq!(names(&other_number), ["add", "add", "mul"]);
    let other_view = graph(|x, _| Ok(vec![mul(&neg(&x.flip(&[0])?)?, &neg(x)?)?]));
    assert_eq!(names(&other_view), ["neg", "neg", "mul"]);
    let both_returned = graph(|x, _| Ok(vec![tanh(x)?, tanh(x)?]));
    assert_eq!(names(&both_returned), ["tanh", "tanh"]);
}

#[test]
fn a_write_between_two_equal_ops_keeps_both() {
    for aliased in [false, true] {
        let kept = graph(|x, row| {
            let before = neg(row)?;
            // The second input may share memory with the first.
            add::inplace(&mut if aliased { x.clone() } else { row.clone() }, 1)?;
            Ok(vec![mul(&before, &neg(row)?)?])
        });
        assert_eq!(names(&kept), ["neg", "add", "neg", "mul"]);
    }
}

#[test]
fn the_same_function_gives_the_same_text() {
    let text = || graph(|x, row| Ok(vec![sub(&tanh(x)?, &exp(row)?)?])).to_string();
    assert_eq!(text(), text());
}

#[test]
fn lines_that_are_wrong_are_named() {
    let start = "size n = 5\ninput x: f32[n]\n";
    let with = |lines: &str| format!("{start}{lines}");
    refused(
        &with("y: f32[n] = tanhh(x) in f32\n"),
        "line 3 of the graph, `y: f32[n] = tanhh(x) in f32`: op `tanhh`",
    );
    refused(&with("y: f32[n] = tanh(x) in f32\n"), "`tanh`, has no effect; leave it out");
    refused(&with("y: f32[n] = tanh(z) in f32\nreturn y"), "`z` is not known here");
    refused(&with("y: f32[m] = tanh(x) in f32\nreturn y"), "size `m` is not known here");
    refused(&with("y: f32[n] = tanh(x, x) in f32\nreturn y"), "takes 1 arguments");
    refused(&with("y: f32[n] = tanh(x) in i32\nreturn y"), "does not compute in i32");
    refused(&with("y: f32[7] = tanh(x) in f32\nreturn y"), "does not broadcast");
    refused(&with("y: f32[n] = add(x, x[9]@(1)) in f32\nreturn y"), "reaches beyond its memory");
    refused(&with("y: f32[n] = add(x, x[n]@(1)+(1)) in f32\nreturn y"), "reaches beyond its memory");
    refused(&with("y: f32[n] = add(y, x) in f32\nreturn y"), "`y` is used before it is made");
    refused(&with("y: f32[n] on cuda:0 = tanh(x) in f32\nreturn y"), "is on cpu, not on cuda:0");
    refused(
        &with("y: f32[n], z: f32[n] on cuda:0 = sincos(x) in f32\nreturn y, z"),
        "its results are on cpu and cuda:0",
    );
    refused(&with("input x: f32[n]\n"), "`x` is defined twice");
    refused(&with("y: f32[n] = tanh(x) in f32 now\nreturn y"), "`now` is too much");
    refused(&with("op tanh = 0123456789abcdef\n"), "another formula than the one that was written down");
    refused("size n = 1\n", "1 is not within 2..=");
    refused("size n = 99999999999999999999\n", "no number that fits");
    refused("size s0 = ceil(m / 2)\n", "size `m` is not known here");
    refused("input x: f33[2]\n", "`f33` is no dtype");
    refused("input x: f32[-2]\n", "-2 is no size");
    assert_eq!(
        names(&Graph::parse(&with("y: f32[n] = tanh(x) in f32\nreturn y"), REGISTRY.iter()).unwrap()),
        ["tanh"]
    );
}

/// A graph with these lines of sizes in front and these guards behind.
fn read(sizes: impl Iterator<Item = String>, guards: impl Iterator<Item = String>) -> Result<Graph> {
    let sizes: String = sizes.map(|line| format!("size {line}\n")).collect();
    let guards: String = guards.map(|line| format!("guard {line}, from x\n")).collect();
    let ops = "input x: f32[a0]\ny: f32[a0] = tanh(x) in f32\nreturn y\n";
    Graph::parse(&format!("{sizes}{ops}{guards}"), REGISTRY.iter())
}

#[test]
fn guards_of_a_text_are_read_whatever_they_relate() {
    let one = |guard: &str| {
        read(["a0 = 4", "a1 = 4"].map(String::from).into_iter(), [guard.to_owned()].into_iter())
    };
    for guard in ["a0 == a0", "a0 <= a0*a0", "a0*a1 == 4*a0", "4 == a1", "a0 != 3*a1"] {
        one(guard).unwrap();
    }
    for guard in ["a0 == a0*a0", "a0 < a0", "a0 == 5", "a0 != a1"] {
        let error = one(guard).unwrap_err();
        assert!(error.to_string().contains("the sizes of this text are"), "{error}");
    }
}

#[test]
fn long_chains_of_sizes_and_guards_are_read() {
    const LONG: usize = 3000;
    let given = || (0..LONG).map(|i| format!("a{i} = 4"));
    let equal = |i: usize| format!("a{i} == a{}", i - 1);
    let last = |name: &str| std::iter::once(format!("{name}{} <= a0", LONG - 1));
    read(given(), (1..LONG).map(equal).chain(last("a"))).unwrap();
    read(given(), (1..LONG).rev().map(equal).chain(last("a"))).unwrap();
    // Each one is the square of the one before: as a product of the first, it would double line by line.
    let ones = || std::iter::once("a0 = 4".to_owned()).chain((1..LONG).map(|i| format!("s{i} = a0 - 3")));
    let square = |i: usize| format!("s{i} == s{}*s{}", i - 1, i - 1);
    read(ones(), (2..LONG).map(square).chain(last("s"))).unwrap();
    read(ones(), (2..LONG).rev().map(square).chain(last("s"))).unwrap();
    let name = |i: usize| if i == 0 { "a0".to_owned() } else { format!("s{i}") };
    let sum = |i: usize| if i == 0 { "a0 = 4".to_owned() } else { format!("s{i} = {} + 1", name(i - 1)) };
    read((0..LONG).map(sum), [format!("9 <= {}", name(LONG - 1))].into_iter()).unwrap();
    // Texts spell out what a size is computed from, but not without end.
    let wrong = format!("input z: f32[{}]\nw: f32[a0] = tanh(z) in f32\nreturn w\n", name(LONG - 1));
    let sizes: String = (0..LONG).map(|i| format!("size {}\n", sum(i))).collect();
    let error = Graph::parse(&format!("{sizes}{wrong}"), REGISTRY.iter()).unwrap_err().to_string();
    assert!(error.contains("does not broadcast") && error.len() < 1000, "{error}");
}

#[test]
fn no_text_is_a_panic() {
    let text = graph(|x, row| Ok(vec![add(&tanh(&x.t()?)?.t()?, &mul(row, 2.5)?)?])).to_string();
    let mut random = gems_tests::random::Random::new(1);
    for _ in 0..3000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = b" 019-+*/()[]@,:.=<asxn\n"[random.below(23)],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[random.below(bytes.len())]),
            }
        }
        if let Ok(changed) = Graph::parse(&String::from_utf8_lossy(&bytes), REGISTRY.iter()) {
            changed.verify().unwrap();
        }
    }
}
