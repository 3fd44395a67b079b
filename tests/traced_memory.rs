//! Whose memory a traced function and its gradients write to and return: several results of one op, results that stay
//! apart, views that overlap or cost nothing, and buffers and sizes of other traces.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::layout::Layout;
use gems_runtime::trace::{Policy, Scope};
use std::cell::RefCell;

/// Eighths from -1 on.
fn ramp(shape: &[usize]) -> StridedBuffer {
    let count: usize = shape.iter().product();
    let values = (0..count).map(|i| f64::from(u32::try_from(i).unwrap()) / 8.0 - 1.0);
    StridedBuffer::from_vec(values.collect(), shape).unwrap()
}

fn values(buffer: &StridedBuffer) -> Vec<f64> {
    buffer.to_vec().unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T>, kind: ErrorKind, because: &str) {
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(because), "{error}");
}

/// Turns the halves of a vector against each other, in the memory of a copy.
fn turned<B: Buffer>(x: &B, angle: &B) -> Result<B> {
    let y = mul(x, 1.0)?;
    let [mut a, mut b] = [y.narrow(0, 0, 2)?, y.narrow(0, 2, 2)?];
    let [before_a, before_b] = [x.narrow(0, 0, 2)?, x.narrow(0, 2, 2)?];
    rotary_embedding::out(&before_a, &before_b, &cos(angle)?, &sin(angle)?, &mut a, &mut b)?;
    Ok(y)
}

/// The same in memory of their own.
fn turned_apart<B: Buffer>(x: &B, angle: &B) -> Result<[B; 2]> {
    let [a, b] = [x.narrow(0, 0, 2)?, x.narrow(0, 2, 2)?];
    let (a, b) = rotary_embedding(&a, &b, &cos(angle)?, &sin(angle)?)?;
    Ok([a, b])
}

#[test]
fn an_op_that_writes_two_parts_of_one_memory_is_differentiated() {
    let (x, angle, dz) = (ramp(&[4]), ramp(&[2]), ramp(&[4]));
    let halves = |buffer: &StridedBuffer| [0, 2].map(|start| buffer.narrow(0, start, 2).unwrap());
    let [first, second] = halves(&dz);
    let apart = vjp(|[x, angle]: [SymbolicBuffer; 2]| turned_apart(&x, &angle));
    let (z, expected) = apart.call(&[&first, &second], [&x, &angle]).unwrap();
    for saving in [Saving::FewestBytes, Saving::Nothing, Saving::Everything] {
        let f = vjp(|[x, angle]: [SymbolicBuffer; 2]| turned(&x, &angle)).with_saving(saving);
        let (got, gradients) = f.call(&[&dz], [&x, &angle]).unwrap();
        assert_eq!([values(&z[0]), values(&z[1])].concat(), values(&got));
        assert_eq!(expected.each_ref().map(values), gradients.each_ref().map(values));
        let (got, saved) = f.forward([&x, &angle]).unwrap();
        assert_eq!([values(&z[0]), values(&z[1])].concat(), values(&got));
        let gradients = f.backward(&[&dz], &saved).unwrap();
        assert_eq!(expected.each_ref().map(values), gradients.each_ref().map(values), "{saving:?}");
    }
    // An op of the library that gives its result so.
    let (dz, x) = (ramp(&[2]), ramp(&[4]));
    let f = vjp(|[dz, x]: [SymbolicBuffer; 2]| glu_backward(&dz, &x, 0));
    let apart = vjp(|[dz, x]: [SymbolicBuffer; 2]| {
        let halves = x.chunk(0, 2)?;
        glu_backward_kernel(&dz, &halves[0], &halves[1])
    });
    let cotangent = ramp(&[4]);
    let [first, second] = halves(&cotangent);
    let (z, gradients) = f.call(&[&cotangent], [&dz, &x]).unwrap();
    let ((a, b), expected) = apart.call(&[&first, &second], [&dz, &x]).unwrap();
    assert_eq!([values(&a), values(&b)].concat(), values(&z));
    assert_eq!(expected.each_ref().map(values), gradients.each_ref().map(values));
}

#[test]
fn an_op_that_writes_a_part_and_another_memory_is_saved_as_one() {
    fn function<B: Buffer>(x: &B) -> Result<B> {
        let (y, mut whole) = (mul(x, 2.0)?, mul(&x.narrow(0, 0, 2)?, 3.0)?);
        let mut part = y.narrow(0, 1, 2)?;
        sincos::out(&tanh(&x.narrow(0, 1, 2)?)?, &mut part, &mut whole)?;
        mul(&mul(&y, &y)?.narrow(0, 0, 2)?, &mul(&whole, &whole)?)
    }
    let (x, dz) = (ramp(&[4]), ramp(&[2]));
    let f = || vjp(|[x]: [SymbolicBuffer; 1]| function(&x));
    let (z, [expected]) = f().call(&[&dz], [&x]).unwrap();
    assert_eq!(values(&function(&x).unwrap()), values(&z));
    for saving in [Saving::FewestBytes, Saving::Nothing, Saving::Everything] {
        let f = f().with_saving(saving);
        let (got, saved) = f.forward([&x]).unwrap();
        assert_eq!(values(&z), values(&got), "{saving:?}");
        assert_eq!(values(&expected), values(&f.backward(&[&dz], &saved).unwrap()[0]), "{saving:?}");
    }
}

#[test]
fn equal_results_that_are_returned_stay_apart() {
    let f = compile(|[x]: [SymbolicBuffer; 1]| {
        let used = mul(&exp(&x)?, 2.0)?;
        Ok([used, exp(&x)?, exp(&x)?, exp(&x)?])
    });
    let x = ramp(&[4]);
    let results = f.call([&x]).unwrap();
    for (i, a) in results.iter().enumerate() {
        assert!(results[..i].iter().all(|b| !a.storage().is_same(b.storage())), "{i}");
    }
    let mut last = results[3].clone();
    mul::inplace(&mut last, 0.0).unwrap();
    assert_eq!(values(&exp(&x).unwrap()), values(&results[1]));
    assert_eq!(f.graph([&x]).unwrap().ops().len(), 4, "the first is shared");
}

#[test]
fn an_input_that_is_named_twice_has_its_gradient_twice() {
    let x = ramp(&[3]);
    let expected = values(&mul(&x, 2.0).unwrap());
    for strided in [x.clone(), ramp(&[5]).slice(0, 0, 5, 2).unwrap()] {
        let expected = values(&mul(&strided, 2.0).unwrap());
        let f = grad(|[x]: [SymbolicBuffer; 1]| mul(&x, &x)).wrt([0, 0]);
        let [a, b] = f.call([&strided]).unwrap();
        assert_eq!((values(&a), values(&b)), (expected.clone(), expected));
        assert!(!a.storage().is_same(b.storage()));
    }
    let f = grad(|[x, y]: [SymbolicBuffer; 2]| mul(&x, &mul(&x, &y)?)).wrt([0, 1, 0]);
    let one = StridedBuffer::full(DType::F64, &[3], 1, Device::Cpu).unwrap();
    let [a, _, b] = f.call([&x, &one]).unwrap();
    assert_eq!((values(&a), values(&b)), (expected.clone(), expected));
    // Nothing depends on it.
    let f = grad(|[_, y]: [SymbolicBuffer; 2]| exp(&y)).wrt([0, 0]);
    let [a, b] = f.call([&x, &one]).unwrap();
    assert_eq!((values(&a), values(&b)), (vec![0.0; 3], vec![0.0; 3]));
}

/// Both results in one memory.
fn into_one<B: Buffer>(x: &B) -> Result<B> {
    let y = mul(x, 1.0)?;
    sincos::out(x, &mut y.clone(), &mut y.clone())?;
    Ok(y)
}

/// Both results in one memory of which only a part is read, and that as it was written.
fn into_one_unreturned<B: Buffer>(x: &B) -> Result<B> {
    add(&into_one(x)?, 1.0)
}

/// Results that share an element.
fn into_neighbors<B: Buffer>(x: &B) -> Result<B> {
    let y = mul(x, 1.0)?;
    sincos::out(&x.narrow(0, 0, 2)?, &mut y.narrow(0, 0, 2)?, &mut y.narrow(0, 1, 2)?)?;
    Ok(y)
}

#[test]
fn two_results_of_one_op_in_the_same_place_are_refused_as_by_real_calls() {
    const BECAUSE: &str = "sincos: outputs `sine` and `cosine` share memory; give separate outputs";
    let x = ramp(&[4]);
    type Function<B> = fn(&B) -> Result<B>;
    let both: [(Function<StridedBuffer>, Function<SymbolicBuffer>); 3] =
        [(into_one, into_one), (into_one_unreturned, into_one_unreturned), (into_neighbors, into_neighbors)];
    for (eager, traced) in both {
        refused(eager(&x), ErrorKind::Overlap, BECAUSE);
        refused(compile(|[x]: [SymbolicBuffer; 1]| traced(&x)).call([&x]), ErrorKind::Overlap, BECAUSE);
    }
    let f = compile(|[x, mut a, mut b]: [SymbolicBuffer; 3]| sincos::out(&x, &mut a, &mut b));
    let pair = ramp(&[8]);
    let at = |start| pair.narrow(0, start, 4).unwrap();
    f.call([&x, &at(0), &at(4)]).unwrap();
    for start in [0, 2] {
        refused(f.call([&x, &at(0), &at(start)]), ErrorKind::Overlap, BECAUSE);
    }
    f.call([&x, &at(4), &at(0)]).unwrap();
    assert_eq!(values(&at(0)), values(&cos(&x).unwrap()));
}

#[test]
fn windows_that_overlap_at_other_sizes_only_have_gradients_there() {
    let windows = || vjp(|[x]: [SymbolicBuffer; 1]| x.unfold(0, 16, 3)?.slice(1, 0, isize::MAX, 5));
    let known = windows();
    for (length, shape) in [(30, [5, 4]), (45, [10, 4]), (33, [6, 4]), (60, [15, 4])] {
        let (x, dz) = (ramp(&[length]), ramp(&shape));
        let fresh = windows().gradients(&[&dz], [&x]).unwrap();
        let reused = known.gradients(&[&dz], [&x]).unwrap();
        assert_eq!(values(&fresh[0]), values(&reused[0]), "{length}");
    }
}

#[test]
fn gradients_of_parts_need_no_sizes() {
    // Every form that the first call traces serves the second, which has other sizes.
    fn check(function: impl Fn(&SymbolicBuffer) -> Result<SymbolicBuffer>, of: [[usize; 3]; 2]) {
        let f = grad(|[x]: [SymbolicBuffer; 1]| function(&x));
        for shape in of {
            f.call([&ramp(&shape)]).unwrap();
        }
        assert_eq!(f.stats().traces, 1);
    }
    let sizes = [[4, 7, 9], [5, 11, 13]];
    check(|x| x.slice(1, 1, isize::MAX, 1), sizes);
    check(|x| x.narrow(2, 1, 3), sizes);
    check(|x| x.slice(2, 0, isize::MAX, 2), sizes);
    check(|x| x.slice(1, 0, isize::MAX, 3)?.flip(&[1]), sizes);
    check(|x| x.select(1, 2)?.t(), sizes);
    check(|x| x.diagonal(0, 1, 2)?.t(), sizes);
}

#[test]
fn a_use_under_another_shape_costs_no_kernel() {
    type Function = fn([SymbolicBuffer; 1]) -> Result<SymbolicBuffer>;
    let whole: [Function; 2] =
        [|[x]| exp(&x.flatten(0, 2)?), |[x]| exp(&x.reshape_dims(&[4usize.into(), 6usize.into()])?)];
    let x = ramp(&[2, 3, 4]);
    let kernels = |f: Function| {
        let explained = grad(f).explain([&x]).unwrap();
        explained.lines().filter(|line| line.starts_with("kernel ")).count()
    };
    for (i, f) in whole.into_iter().enumerate() {
        assert_eq!(kernels(f), 1, "{i}");
    }
    let squared = grad(|[x]: [SymbolicBuffer; 1]| mul(&x.flatten(0, 1)?, &x.flatten(0, 1)?));
    let [dx] = squared.call([&x]).unwrap();
    assert_eq!((dx.shape(), values(&dx)), (x.shape(), values(&mul(&x, 2.0).unwrap())));
    // Elements that were not read get zeros, which are written first.
    let part: Function = |[x]| exp(&x.narrow(0, 1, 1)?.flatten(1, 2)?);
    assert_eq!(kernels(part), 2);
    let expected = [vec![0.0; 12], values(&exp(&x.select(0, 1).unwrap()).unwrap())].concat();
    assert_eq!(values(&grad(part).call([&x]).unwrap()[0]), expected);
}

#[test]
fn buffers_of_another_trace_are_refused_wherever_they_are_used() {
    let stash: RefCell<Option<SymbolicBuffer>> = RefCell::new(None);
    let with_other =
        |x: &StridedBuffer, use_it: fn(&SymbolicBuffer, &mut SymbolicBuffer) -> Result<SymbolicBuffer>| {
            stash.take();
            let f = |[x]: [SymbolicBuffer; 1]| match stash.borrow_mut().as_mut() {
                Some(other) => use_it(&x, other),
                None => Err(Error::new(ErrorKind::Value, "nothing there")),
            };
            let keep = compile(|[x]: [SymbolicBuffer; 1]| {
                let y = (0..5).try_fold(neg(&x)?, |y, _| neg(&exp(&y)?))?;
                *stash.borrow_mut() = Some(y.clone());
                Ok(y)
            });
            keep.call([x]).unwrap();
            let traced = compile(f).call([x]).map(|_| ());
            let differentiated = grad(f).call([x]).map(|_| ());
            [traced, differentiated]
        };
    let (one, four) = (ramp(&[1]), ramp(&[4]));
    for answer in [&one, &four].into_iter().flat_map(|x| with_other(x, |_, other| Ok(other.clone()))) {
        refused(answer, ErrorKind::Value, "does not come from the inputs");
    }
    for answer in with_other(&one, |x, other| exp::out(x, other).map(|()| x.clone())) {
        refused(answer, ErrorKind::Value, "exp: output `out` (f64[1]) does not belong to this trace");
    }
    for answer in with_other(&one, |x, other| add(x, &*other)) {
        refused(answer, ErrorKind::Value, "add: `other` (f64[1]) does not belong to this trace");
    }
    let inner = vjp(|[x, y]: [SymbolicBuffer; 2]| mul(&x, &y));
    let stash: RefCell<Option<SymbolicBuffer>> = RefCell::new(None);
    let f = compile(|[x]: [SymbolicBuffer; 1]| {
        let other = stash.borrow_mut().get_or_insert_with(|| x.clone()).clone();
        inner.traced(&[&x], [&x, &other])
    });
    f.call([&ramp(&[4])]).unwrap();
    refused(f.call([&ramp(&[4, 4])]), ErrorKind::Value, "");
}

#[test]
fn a_view_that_leaves_its_memory_is_no_view_of_a_trace() {
    let f = compile(|[x]: [SymbolicBuffer; 1]| {
        neg(&x.with_layout(Layout::from(&Layout::new(&[100], &[1], 0)?))?)
    });
    refused(f.call([&ramp(&[4])]), ErrorKind::Shape, "leaves its memory");
}

#[test]
fn sizes_of_another_scope_are_no_sizes_of_a_trace() {
    let scope = Scope::new(Policy::Guard);
    let rows = scope.symbol("rows", 3);
    let (one, x) = (ramp(&[1]), ramp(&[5]));
    let viewed = compile(|[x, y]: [SymbolicBuffer; 2]| {
        Ok([neg(&x.broadcast_to_dims(std::slice::from_ref(&rows))?)?, exp(&y)?])
    });
    refused(viewed.call([&one, &x]), ErrorKind::Value, "the size rows is not of this trace");
    let given = compile(|[x]: [SymbolicBuffer; 1]| {
        let mut out = SymbolicBuffer::symbolic(DType::F64, std::slice::from_ref(&rows), Device::Cpu)?;
        neg::out(&x.narrow(0, 1, 3)?, &mut out)?;
        Ok(out)
    });
    refused(given.call([&x]), ErrorKind::Value, "neg: the size rows is not of this trace");
}

#[test]
fn strides_as_large_as_numbers_get_are_traced() {
    let x = ramp(&[4]);
    let far = x.slice(0, 0, isize::MAX, usize::MAX).unwrap();
    let view = |stride: isize| x.as_strided(&[1, 2], &[stride, 1], 0).unwrap();
    for x in [far, view(isize::MAX), view(isize::MIN), view(isize::MIN + 1), view(isize::MAX - 1)] {
        let f = compile(|[x]: [SymbolicBuffer; 1]| Ok([neg(&x)?, add(&x.flip(&[0])?, 1.0)?]));
        let got = f.call([&x]).unwrap();
        assert_eq!(values(&neg(&x).unwrap()), values(&got[0]), "{x:?}");
        assert_eq!(values(&add(&x, 1.0).unwrap()), values(&got[1]), "{x:?}");
        let [dx] = grad(|[x]: [SymbolicBuffer; 1]| mul(&x, &x)).call([&x]).unwrap();
        assert_eq!(values(&mul(&x, 2.0).unwrap()), values(&dx), "{x:?}");
    }
}

#[test]
fn errors_of_traces_tell_the_sizes_of_the_run() {
    let f = compile(|[x, y]: [SymbolicBuffer; 2]| add(&x, &y));
    let [x, y] = [[2, 3], [4, 3]].map(|shape| StridedBuffer::zeros(DType::F32, &shape, Device::Cpu).unwrap());
    let text = f.call([&x, &y]).unwrap_err().to_string();
    let sizes = "; in this run x0.shape[0] is 2, x0.shape[1] is 3, x1.shape[0] is 4, x1.shape[1] is 3";
    assert!(text.ends_with(sizes), "{text}");
}

#[test]
fn transposed_values_take_other_shapes_when_they_are_contiguous() {
    fn flat<B: Buffer>(x: &B) -> Result<B> {
        contiguous(&x.t()?)?.flatten(0, -1)
    }
    let f = compile(|[x]: [SymbolicBuffer; 1]| flat(&x));
    for (n, m) in [(2, 3), (3, 2), (5, 7)] {
        let values: Vec<f32> = (0..n * m).map(|i| i as f32).collect();
        let x = StridedBuffer::from_vec(values, &[n, m]).unwrap();
        let eager = flat(&x).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(f.call([&x]).unwrap().to_vec::<f32>().unwrap(), eager);
        assert_eq!(eager[1], m as f32);
        let whole = contiguous(&x).unwrap();
        assert!(whole.storage().is_same(x.storage()));
    }
    assert_eq!(f.stats().traces, 1);

    let weighted = grad(|[x, w]: [SymbolicBuffer; 2]| mul(&flat(&x)?, &w));
    let x = StridedBuffer::zeros(DType::F32, &[2, 3], Device::Cpu).unwrap();
    let w = StridedBuffer::from_vec((0..6).map(|i| i as f32).collect(), &[6]).unwrap();
    let [gradient, _] = &weighted.call([&x, &w]).unwrap()[..] else { panic!("two gradients") };
    assert_eq!(gradient.to_vec::<f32>().unwrap(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
}
