//! `gems replay`: runs recorded cases and compares.
//!
//! The formats and the rule by which a case passes are those of tests/data/FORMAT.md.

mod call;
mod case;
mod compare;
mod faults;
mod formula;
mod gradient;
mod known;
mod program;
mod report;
mod reverse;
mod rules;
mod subject;
mod torch;
mod traced;

use crate::ReplayArgs;
use crate::elements::Elements;
use crate::failure::{Failure, Outcome};
use call::{Call, Given};
use case::{Argument, Cases, TorchCase};
use compare::{Form, Rule, Tolerance};
use gems_ops::buffer::{StridedBuffer, SymbolicBuffer};
use gems_ops::device::Device;
use gems_ops::dtype::DType;
use gems_ops::op::Operand;
use known::{Entry, Known};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use report::{Label, Report, Verdict};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use subject::{Stop, Subject};
use torch::{name_in_source, short_name};
use traced::TracedBuffer;

/// How cases are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// With memory: values are compared.
    Eager,
    /// Without memory: dtype, shape and strides are compared.
    Symbolic,
    /// With memory, every call traced, fused and run: values are compared, also with those of eager calls.
    Traced,
}

pub(crate) fn replay(args: &ReplayArgs, out: &mut impl Write) -> Outcome {
    if args.mode != Mode::Symbolic {
        // Says at once, and once, that a device cannot be used.
        StridedBuffer::zeros(DType::F32, &[1], args.device)?;
    }
    let mut report = Report::default();
    for file in &args.files {
        let known = Known::load(args.known.as_deref(), file)?;
        let replayer = Replayer { args, known: &known };
        let verdicts = match case::read(file)? {
            Cases::Torch(cases) => replayer.all(&cases, |_, case| replayer.torch(case)),
            Cases::Fault(cases) => replayer.all(&cases, |_, case| replayer.fault(case)),
            Cases::Layout(cases) => replayer.all(&cases, |i, case| replayer.layout(i, case)),
            Cases::Promotion(tables) => replayer.promotion(&tables),
        };
        for (label, verdict) in verdicts.into_iter().flatten() {
            report.add(label, verdict);
        }
    }
    report.print(out)?;
    if let Some(path) = &args.json {
        fs::write(path, format!("{:#}\n", report.to_json()))
            .map_err(|error| Failure::of_file(path, error))?;
    }
    let open = match &args.open {
        Some(path) => open_cases(path)?,
        None => BTreeSet::new(),
    };
    let failed = report.failed();
    for id in open.difference(&failed) {
        writeln!(out, "case {id} does not fail any more; take it off the list")?;
    }
    Ok(if failed == open { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The ids of a list of cases: the first word of each line that is no remark.
fn open_cases(path: &Path) -> Outcome<BTreeSet<String>> {
    let text = fs::read_to_string(path).map_err(|error| Failure::of_file(path, error))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

/// The verdict on a case; `None` if the filters leave it out.
type Judged = Option<(Label, Verdict)>;

/// What the cases of one file are replayed with.
struct Replayer<'a> {
    args: &'a ReplayArgs,
    known: &'a Known,
}

impl Replayer<'_> {
    /// Replays cases on all cores, since most of the time goes into compiling kernels.
    fn all<C: Sync>(&self, cases: &[C], judge: impl Fn(usize, &C) -> Judged + Sync) -> Vec<Judged> {
        cases.par_iter().enumerate().map(|(i, case)| judge(i, case)).collect()
    }

    fn torch(&self, case: &TorchCase) -> Judged {
        let TorchCase { id, op, dtype, source, .. } = case;
        let label = Label { id: id.clone(), op: op.clone(), dtype: dtype.clone(), source: source.clone() };
        if self.args.grad {
            case.grad.as_ref()?;
            return self.judge(label, |args, known| {
                let verdict = match args.mode {
                    Mode::Eager => gradient::torch_case::<StridedBuffer>(case, args.device, known),
                    Mode::Symbolic => gradient::torch_case::<SymbolicBuffer>(case, args.device, known),
                    Mode::Traced => gradient::torch_case::<TracedBuffer>(case, args.device, known),
                };
                verdict.unwrap_or(Verdict::Passed)
            });
        }
        self.judge(label, |args, known| match args.mode {
            Mode::Eager => torch_case::<StridedBuffer>(case, args.device, known),
            Mode::Symbolic => torch_case::<SymbolicBuffer>(case, args.device, known),
            Mode::Traced => torch_case::<TracedBuffer>(case, args.device, known),
        })
    }

    fn fault(&self, case: &faults::FaultCase) -> Judged {
        if self.args.grad && !case.is_about_gradients() {
            return None;
        }
        self.judge(case.label(), |args, known| match args.mode {
            Mode::Eager => faults::verdict::<StridedBuffer>(case, args.device, known),
            Mode::Symbolic => faults::verdict::<SymbolicBuffer>(case, args.device, known),
            Mode::Traced => faults::verdict::<TracedBuffer>(case, args.device, known),
        })
    }

    fn layout(&self, index: usize, case: &case::LayoutCase) -> Judged {
        let id = format!("layout-{}", index + 1);
        let label = Label { id, op: case.op.clone(), dtype: String::new(), source: "layout-cases".into() };
        self.judge(label, |args, _| rules::layout(case, args.device))
    }

    fn promotion(&self, tables: &case::Promotion) -> Vec<Judged> {
        let label = |id: &str, op: &str| Label {
            id: id.to_owned(),
            op: op.to_owned(),
            dtype: String::new(),
            source: "promotion".into(),
        };
        let types = tables.result_type.iter().map(|(id, want)| {
            self.judge(label(id, "result_type"), |_, known| rules::result_type(id, want, known))
        });
        let kinds = tables.elementwise.iter().map(|(id, want)| {
            self.judge(label(id, "elementwise"), |_, known| rules::elementwise(id, want, known))
        });
        types.chain(kinds).collect()
    }

    /// Replays a case unless the filters leave it out.
    fn judge(&self, label: Label, verdict: impl FnOnce(&ReplayArgs, &Known) -> Verdict) -> Judged {
        let admits =
            |filter: &[String], value: &str| filter.is_empty() || filter.iter().any(|name| name == value);
        let ops: Vec<String> = self.args.ops.iter().map(|name| short_name(name).to_owned()).collect();
        let admitted = admits(&ops, short_name(&label.op))
            && admits(&self.args.dtypes, &label.dtype)
            && admits(&self.args.source, &label.source);
        admitted.then(|| {
            let verdict = verdict(self.args, self.known);
            (label, verdict)
        })
    }
}

fn torch_case<B: Subject>(case: &TorchCase, device: Device, known: &Known) -> Verdict {
    match torch_results::<B>(case, device) {
        Err(stop) => stop.verdict(),
        Ok(results) if results.len() != case.out.len() => {
            Verdict::Failed(format!("got {} results, expected {}", results.len(), case.out.len()))
        }
        Ok(results) => results
            .iter()
            .enumerate()
            .map(|(i, result)| {
                torch_result(case, i, result, known.entry(&case.id, i)).unwrap_or_else(Verdict::Failed)
            })
            .fold(Verdict::Passed, compare::worse),
    }
}

fn torch_results<B: Subject>(case: &TorchCase, device: Device) -> Result<Vec<B>, Stop> {
    run(&call_of(case, device)?)
}

/// The call that a case records.
fn call_of<B: Subject>(case: &TorchCase, device: Device) -> Result<Call<B>, Stop> {
    let given = |argument| given::<B>(argument, device);
    let positional = case.args.iter().map(given).collect::<Result<_, _>>()?;
    let keywords = case.kwargs.iter().map(|(name, argument)| Ok((name.as_str(), given(argument)?)));
    let name = name_in_source(&case.op, &case.source);
    Ok(Call::bind(name, positional, keywords.collect::<Result<_, Stop>>()?)?)
}

/// Runs a call into new buffers.
fn run<B: Subject>(call: &Call<B>) -> Result<Vec<B>, Stop> {
    // PyTorch's `real` and `imag` are views of a complex tensor.
    if let ("real" | "imag", [Operand::Buffer(input)]) = (call.op.name, call.operands().as_slice())
        && input.meta().dtype.is_complex()
    {
        return Ok(vec![input.parts(call.op.name == "imag").map_err(Stop::of)?]);
    }
    match B::checked_run(call.op, &call.operands()) {
        Ok(results) => Ok(results.into_vec()),
        Err(error) => Err(Stop::of_call(error, call)),
    }
}

fn given<B: Subject>(argument: &Argument, device: Device) -> Result<Given<B>, Stop> {
    let damaged = |what: String| Stop::Verdict(Verdict::Failed(format!("damaged case: {what}")));
    Ok(match argument {
        Argument::Tensor { tensor } => {
            let window = tensor.window().map_err(damaged)?;
            let window = window.ok_or_else(|| Verdict::Unsupported(format!("no dtype {}", tensor.dtype)))?;
            Given::Buffer(B::place(&window, device).map_err(Stop::of)?)
        }
        Argument::Scalar { scalar, kind } => Given::Number(case::scalar(scalar, kind).map_err(damaged)?),
        Argument::Word { str } => Given::Word(str.clone()),
        Argument::DType { dtype } => Given::Word(dtype.clone()),
        Argument::None { .. } => Given::None,
    })
}

/// The verdict on one result of a case; the error is a damaged case or a device that failed.
fn torch_result<B: Subject>(
    case: &TorchCase,
    index: usize,
    got: &B,
    known: Option<&Entry>,
) -> Result<Verdict, String> {
    let tensor = &case.out[index];
    let Some(want) = tensor.window()? else {
        return Ok(Verdict::Unsupported(format!("no dtype {}", tensor.dtype)));
    };
    let shape = want.layout.shape();
    let form = Form { dtype: &tensor.dtype, shape, strides: Some(want.layout.strides()) };
    let mut verdict = Verdict::Passed;
    if let Some(difference) = form.difference(&got.plain().map_err(|error| error.to_string())?) {
        match known.filter(|entry| entry.expects(&got.meta().to_string())) {
            Some(entry) => verdict = Verdict::Known(entry.why()),
            None => return Ok(Verdict::Failed(difference)),
        }
    }
    let comparable = got.meta().dtype == want.dtype && got.shape() == shape;
    let Some(got) = got.elements().map_err(|error| error.to_string())?.filter(|_| comparable) else {
        return Ok(verdict);
    };
    let dtype = want.dtype;
    let rule = Rule { tolerance: Tolerance::of_torch(dtype), signed_zero: false };
    let reference = match case.ref64.as_ref().and_then(|tensors| tensors.get(index)) {
        Some(tensor) => tensor.window()?.filter(|window| window.layout.shape() == shape),
        None => None,
    };
    let elements = |window: case::Window| Elements::new(window.bytes, window.dtype, window.layout);
    let shape = shape.to_vec();
    let (want, reference) = (elements(want), reference.map(elements));
    let differing = compare::differences(&got, |i, value| {
        rule.agrees(value, want.value(i), dtype)
            || reference.as_ref().is_some_and(|reference| rule.agrees(value, reference.value(i), dtype))
    });
    Ok(compare::worse(verdict, compare::judge(&got, |i| want.value(i), &differing, &shape, known)))
}
