//! Layouts and sizes at the edge of memory and of the address space are errors or work; nothing panics, aborts or leaves
//! its memory.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::{REGISTRY, prelude::*};
use gems_runtime::buffer::Meta;
use gems_runtime::layout::Layout;
use gems_runtime::plan::{Argument, preview};
use gems_runtime::trace::{Dim, Graph};

fn ramp(n: usize) -> StridedBuffer {
    StridedBuffer::from_vec((0..n).map(|i| i as f32).collect(), &[n]).unwrap()
}

/// The text of the error.
#[track_caller]
fn refused<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("this must be an error"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn results_that_begin_in_front_of_their_memory_are_refused() {
    let into = |layout: Layout| {
        let function = compile(move |[x]: [SymbolicBuffer; 1]| {
            let meta = Meta { dtype: DType::F32, device: Device::Cpu, layout: layout.clone() };
            let mut out = SymbolicBuffer::with_meta(meta);
            neg::out(&x, &mut out)?;
            Ok(out)
        });
        // The second call takes the way of known layouts.
        function.call([&ramp(4)]).and_then(|_| function.call([&ramp(4)]))
    };
    for (strides, offset) in [(-1, 0), (-1, 2), (1, -1), (-3, 8)] {
        let text = refused(into(Layout::new(&[4], &[strides], offset).unwrap()));
        assert!(text.contains("in front of its memory"), "{text}");
    }
    for (strides, offset) in [(-1, 3), (-1, 5), (1, 2), (3, 0)] {
        let layout = Layout::new(&[4], &[strides], offset).unwrap();
        let result = into(layout.clone()).unwrap();
        assert_eq!(result.to_vec::<f32>().unwrap(), [-0.0, -1.0, -2.0, -3.0]);
        assert_eq!(result.meta().layout, layout);
    }
}

#[test]
fn graphs_whose_memories_begin_in_front_of_them_are_refused() {
    for (layout, fits) in [("@(-1)", false), ("@(-1)+(2)", false), ("@(-1)+(3)", true)] {
        let text = format!("input x0: f32[4]\na: f32[4]{layout} = gradient_copy(x0) in f32\nreturn a\n");
        let graph = Graph::parse(&text, REGISTRY.iter());
        assert_eq!(graph.is_ok(), fits, "{text}{:?}", graph.err());
    }
}

#[test]
fn sizes_below_zero_are_refused() {
    let [three, negative] = [3_isize, -400].map(Dim::from);
    let shape = [three, negative.clone()];
    let function = compile(move |[x]: [SymbolicBuffer; 1]| neg(&x.broadcast_to_dims(&shape)?));
    assert!(refused(function.call([&ramp(1)])).contains("-400"));
    let text = refused(Layout::row_major(&[negative]));
    assert!(text.contains("below 0"), "{text}");
}

#[test]
fn views_that_leave_the_address_space_are_refused() {
    let x = ramp(8).narrow(0, 1, 6).unwrap();
    for offset in [isize::MAX - 3, isize::MAX - 4, isize::MIN] {
        let layout = Layout::new(&[4], &[1], offset).unwrap();
        let function = compile(move |[x]: [SymbolicBuffer; 1]| neg(&x.with_layout(Layout::from(&layout))?));
        refused(function.call([&x]));
    }
}

#[test]
fn memory_that_cannot_be_had_is_an_error() {
    for elements in [1 << 44, 1 << 50, 1 << 60, 1 << 62] {
        for dtype in [DType::U8, DType::F64, DType::C128] {
            let Some(bytes) = dtype.size().checked_mul(elements) else { continue };
            if bytes < 1 << 47 {
                continue;
            }
            refused(StridedBuffer::full(dtype, &[elements], 1, Device::Cpu));
            refused(StridedBuffer::zeros(dtype, &[elements], Device::Cpu));
        }
    }
    let filled = StridedBuffer::full(DType::C128, &[3, 50_001], 2.5, Device::Cpu).unwrap();
    let elements = filled.to_vec::<num_complex::Complex64>().unwrap();
    assert!(elements.len() == 150_003 && elements.iter().all(|z| (z.re, z.im) == (2.5, 0.0)));
    assert_eq!(StridedBuffer::full(DType::F32, &[0], 1, Device::Cpu).unwrap().numel(), 0);
}

#[test]
fn strides_and_offsets_that_no_element_uses_do_no_harm() {
    let x = ramp(4);
    let empty = x.as_strided(&[0], &[1], isize::MAX).unwrap();
    assert_eq!(neg(&empty).unwrap().to_vec::<f32>().unwrap(), [0.0; 0]);
    assert_eq!(empty.to_vec::<f32>().unwrap(), [0.0; 0]);
    for stride in [isize::MAX, isize::MIN] {
        let mut one = x.as_strided(&[1, 1], &[stride, stride], 2).unwrap();
        one.write(&[8.0_f32]).unwrap();
        assert_eq!(one.to_vec::<f32>().unwrap(), [8.0]);
        assert_eq!(neg(&one).unwrap().to_vec::<f32>().unwrap(), [-8.0]);
    }
    let wide =
        Meta { dtype: DType::F32, device: Device::Cpu, layout: Layout::new(&[1 << 62], &[2], 0).unwrap() };
    drop(preview(neg::DEF, &[Argument::Buffer(&wide)]));
}
