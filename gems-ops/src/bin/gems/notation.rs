//! Operands in words: numbers, and `dtype[shape]` with views behind it.
//!
//! `bf16[64,256].t()` is what a program would call `.t()` on: the views are those of the library, with the same
//! arguments and errors. Nothing is allocated.

use crate::failure::{Failure, Outcome};
use gems_ops::buffer::Meta;
use gems_ops::device::Device;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::error::Result;
use gems_ops::layout::Layout;

/// A buffer without memory, or a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    Buffer(Meta),
    Number(Scalar),
}

/// A view by name: its arguments in words, and what it does.
struct View {
    name: &'static str,
    arguments: &'static str,
    apply: fn(&Layout, &Arguments<'_>) -> Option<Result<Layout>>,
}

/// The numbers and lists between the parentheses of a view.
struct Arguments<'a> {
    /// All numbers, whether in a list or not.
    flat: &'a [isize],
    /// The lists, for views that take several.
    lists: &'a [Vec<isize>],
}

impl Arguments<'_> {
    fn exactly<const N: usize>(&self) -> Option<[isize; N]> {
        self.flat.try_into().ok()
    }
}

const VIEWS: &[View] = &[
    View { name: "t", arguments: "", apply: |x, a| a.exactly::<0>().map(|_| x.t()) },
    View { name: "permute", arguments: "axes", apply: |x, a| Some(x.permute(a.flat)) },
    View {
        name: "transpose",
        arguments: "axis, axis",
        apply: |x, args| args.exactly().map(|[a, b]| x.transpose(a, b)),
    },
    View {
        name: "slice",
        arguments: "axis, start, end, step",
        apply: |x, args| match *args.flat {
            [axis, start, end] => Some(x.slice(axis, start, end, 1)),
            [axis, start, end, step] => Some(x.slice(axis, start, end, usize::try_from(step).ok()?)),
            _ => None,
        },
    },
    View { name: "flip", arguments: "axes", apply: |x, a| Some(x.flip(a.flat)) },
    View {
        name: "narrow",
        arguments: "axis, start, len",
        apply: |x, args| {
            let [axis, start, len] = args.exactly()?;
            Some(x.narrow(axis, start, usize::try_from(len).ok()?))
        },
    },
    View {
        name: "select",
        arguments: "axis, index",
        apply: |x, args| args.exactly().map(|[axis, index]| x.select(axis, index)),
    },
    View { name: "expand", arguments: "shape", apply: |x, a| Some(x.expand(a.flat)) },
    View { name: "reshape", arguments: "shape", apply: |x, a| Some(x.reshape(a.flat)) },
    View {
        name: "unsqueeze",
        arguments: "axis",
        apply: |x, args| args.exactly().map(|[axis]| x.unsqueeze(axis)),
    },
    View {
        name: "squeeze",
        arguments: "axis or nothing",
        apply: |x, args| match *args.flat {
            [] => Some(Ok(x.squeeze_all())),
            [axis] => Some(x.squeeze(axis)),
            _ => None,
        },
    },
    View {
        name: "diagonal",
        arguments: "offset, axis, axis",
        apply: |x, args| args.exactly().map(|[o, a, b]| x.diagonal(o, a, b)),
    },
    View {
        name: "as_strided",
        arguments: "[shape], [strides], offset",
        apply: |x, args| {
            let [shape, strides] = args.lists else { return None };
            let offset = match args.flat.get(shape.len() + strides.len()..)? {
                [] => x.offset(),
                [offset] => *offset,
                _ => return None,
            };
            let shape: Vec<usize> =
                shape.iter().map(|&n| usize::try_from(n)).collect::<Result<_, _>>().ok()?;
            // The storage is that of the contiguous buffer in front of the views.
            let storage = x.span().map_or(0, |(_, high)| high.unsigned_abs() + 1);
            Some(Layout::as_strided(&shape, strides, offset, storage))
        },
    },
];

/// An operand from its notation.
pub(crate) fn parse(text: &str) -> Outcome<Written> {
    if let Some(number) = number(text) {
        return Ok(Written::Number(number));
    }
    buffer(text).map(Written::Buffer).map_err(|what| Failure::new(format!("operand `{text}`: {what}")))
}

/// A number as Rust or Python write it.
pub(crate) fn number(text: &str) -> Option<Scalar> {
    match text {
        "true" | "True" => return Some(Scalar::Bool(true)),
        "false" | "False" => return Some(Scalar::Bool(false)),
        _ => {}
    }
    if let Ok(value) = text.parse::<i64>() {
        return Some(Scalar::I64(value));
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(Scalar::U64(value));
    }
    text.parse::<f64>().ok().map(Scalar::F64)
}

fn buffer(text: &str) -> Result<Meta, String> {
    let expected = "expected a number or `dtype[shape]`, such as bf16[64,256]";
    let (dtype, rest) = text.split_once('[').ok_or(expected)?;
    let dtype = self::dtype(dtype.trim())?;
    let (shape, mut views) = rest.split_once(']').ok_or(expected)?;
    let shape: Vec<usize> = integers(shape).ok_or(expected)?;
    let mut layout = Layout::contiguous(&shape).map_err(|error| error.to_string())?;
    while !views.trim().is_empty() {
        let (call, rest) = views.split_once(')').ok_or("a view has no `)`")?;
        let (name, arguments) = call
            .trim()
            .strip_prefix('.')
            .and_then(|call| call.split_once('('))
            .ok_or("views are written `.name(…)`")?;
        layout = view(&layout, name.trim(), arguments)?;
        views = rest;
    }
    Ok(Meta { dtype, device: Device::Cpu, layout })
}

/// The dtype of this name, or the list of all.
pub(crate) fn dtype(name: &str) -> Result<DType, String> {
    DType::from_name(name).ok_or_else(|| {
        let names: Vec<_> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
        format!("no dtype `{name}`; dtypes are {}", names.join(", "))
    })
}

fn view(layout: &Layout, name: &str, arguments: &str) -> Result<Layout, String> {
    let view = VIEWS.iter().find(|view| view.name == name).ok_or_else(|| {
        let names: Vec<_> = VIEWS.iter().map(|view| view.name).collect();
        format!("no view `{name}`; views are {}", names.join(", "))
    })?;
    let wrong = || format!("`{name}` takes ({})", view.arguments);
    let flat: Vec<isize> = integers(&arguments.replace(['[', ']'], " ")).ok_or_else(wrong)?;
    let lists = lists(arguments).ok_or_else(wrong)?;
    (view.apply)(layout, &Arguments { flat: &flat, lists: &lists })
        .ok_or_else(wrong)?
        .map_err(|error| error.to_string())
}

/// The lists in brackets.
fn lists(text: &str) -> Option<Vec<Vec<isize>>> {
    let inside = text.split('[').skip(1);
    inside.map(|part| part.split_once(']').and_then(|(list, _)| integers(list))).collect()
}

/// Numbers separated by commas; none for blank text.
fn integers<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shape: &[usize], strides: &[isize], offset: isize) {
        let Ok(Written::Buffer(buffer)) = parse(text) else { panic!("{text} is no buffer") };
        let layout = &buffer.layout;
        assert_eq!((layout.shape(), layout.strides(), layout.offset()), (shape, strides, offset), "{text}");
    }

    #[track_caller]
    fn message(text: &str) -> String {
        match parse(text) {
            Err(Failure::Message(message)) => message,
            other => panic!("{text} gives {other:?}"),
        }
    }

    #[test]
    fn views_follow_the_shape() {
        check("f32[]", &[], &[], 0);
        check("bf16[64,256]", &[64, 256], &[256, 1], 0);
        check("bf16[64, 256].t()", &[256, 64], &[1, 256], 0);
        check("f32[8,1,5].expand(8,4,5)", &[8, 4, 5], &[5, 0, 1], 0);
        check("f32[9,9].slice(1,0,9,2).flip(0)", &[9, 5], &[-9, 2], 72);
        check("f32[4,3].permute(1,0)", &[3, 4], &[1, 3], 0);
        check("f32[2,3,4].transpose(0,-1)", &[4, 3, 2], &[1, 4, 12], 0);
        check("f32[2,3].select(0,1)", &[3], &[1], 3);
        check("f32[2,3].unsqueeze(1)", &[2, 1, 3], &[3, 3, 1], 0);
        check("f32[2,1,3].squeeze(1)", &[2, 3], &[3, 1], 0);
        check("f32[2,1,3,1].squeeze()", &[2, 3], &[3, 1], 0);
        check("f32[2,6].reshape(4,3)", &[4, 3], &[3, 1], 0);
        check("f32[2,6].narrow(1,2,3)", &[2, 3], &[6, 1], 2);
        check("f32[12].as_strided([2,2],[1,2],3)", &[2, 2], &[1, 2], 3);
    }

    #[test]
    fn numbers_keep_their_kind() {
        for (text, number) in [
            ("2", Scalar::I64(2)),
            ("-2", Scalar::I64(-2)),
            ("18446744073709551615", Scalar::U64(u64::MAX)),
            ("2.0", Scalar::F64(2.0)),
            ("1e3", Scalar::F64(1e3)),
            ("-inf", Scalar::F64(f64::NEG_INFINITY)),
            ("true", Scalar::Bool(true)),
        ] {
            assert_eq!(parse(text).unwrap(), Written::Number(number), "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_would_work() {
        assert!(message("f31[2]").contains("no dtype `f31`; dtypes are bool, u8"));
        assert!(message("f32").contains("expected a number or `dtype[shape]`"));
        assert!(message("f32[2").contains("expected a number or `dtype[shape]`"));
        assert!(message("f32[2,-1]").contains("expected a number or `dtype[shape]`"));
        assert!(message("f32[2].turn(1)").contains("no view `turn`; views are t, permute"));
        assert!(message("f32[2].t").contains("a view has no `)`"));
        assert!(message("f32[2]t()").contains("views are written `.name(…)`"));
        assert!(message("f32[2].select(0)").contains("`select` takes (axis, index)"));
        assert!(message("f32[2].select(0,x)").contains("`select` takes (axis, index)"));
        assert!(message("f32[2,3].expand(5,3)").contains("f32[2,3].expand(5,3)"));
        assert!(message("f32[12].as_strided([2,2],[1,20],3)").contains("as_strided"));
    }
}
