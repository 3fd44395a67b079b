//! Random functions give the same bits eager, traced, fused and loaded, on the CPU and as generated code.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::{REGISTRY, prelude::*};
use gems_runtime::trace::{Form, Graph, Loaded, Options, trace};
use gems_tests::compare::{Bound, compare};
use gems_tests::dag::{Dag, Taste};
use gems_tests::random::Random;
use std::path::Path;

/// The same views of memory of their own.
fn copies(given: &[StridedBuffer]) -> Vec<StridedBuffer> {
    let same = |buffer: &StridedBuffer| {
        let elements = buffer.storage().bytes() / buffer.dtype().size();
        let whole = copy(&buffer.as_strided(&[elements], &[1], 0)?)?;
        whole.as_strided(buffer.shape(), buffer.strides(), buffer.meta().layout.offset())
    };
    given.iter().map(|buffer| same(buffer).unwrap()).collect()
}

/// A function with inputs, and what eager calls make of them.
struct Case {
    dag: Dag,
    given: Vec<StridedBuffer>,
    /// The results, then the inputs as they were left.
    expected: Vec<StridedBuffer>,
}

impl Case {
    fn new(random: &mut Random, taste: Taste) -> Case {
        let dag = Dag::new(random, taste);
        let given = dag.fill(random);
        let inputs = copies(&given);
        let mut expected = dag.run(&inputs).unwrap_or_else(|error| panic!("{dag:?}: {error}"));
        expected.extend(inputs);
        Case { dag, given, expected }
    }

    fn trace(&self, fusion: Fusion) -> Form {
        let inputs: Vec<&StridedBuffer> = self.given.iter().collect();
        let options = Options { fusion, ..Options::default() };
        trace(&inputs, options, |inputs| self.dag.run(&inputs))
            .unwrap_or_else(|e| panic!("{:?}: {e}", self.dag))
    }

    /// The results of the function for fresh inputs, then the inputs as it left them.
    fn outcome(
        &self,
        run: impl Fn(&[&StridedBuffer]) -> Result<Vec<StridedBuffer>>,
    ) -> Result<Vec<StridedBuffer>> {
        let inputs = copies(&self.given);
        let mut outcome = run(&inputs.iter().collect::<Vec<_>>())?;
        outcome.extend(inputs);
        Ok(outcome)
    }

    /// Runs the function and compares.
    #[track_caller]
    fn check(&self, what: &str, form: &Form, run: impl Fn(&[&StridedBuffer]) -> Result<Vec<StridedBuffer>>) {
        let context = || format!("{what}: {:?}\n{}\n{}", self.dag, form.graph(), form.explain());
        let outcome = self.outcome(run).unwrap_or_else(|error| panic!("{error}\n{}", context()));
        assert_eq!(self.expected.len(), outcome.len());
        for (expected, got) in self.expected.iter().zip(&outcome) {
            assert_eq!(expected.meta(), got.meta(), "{}", context());
            compare(expected, got, Bound::Exact).unwrap_or_else(|found| panic!("{found}\n{}", context()));
        }
    }
}

#[test]
fn random_functions_give_the_same_bits_eager_traced_fused_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let check = |random: &mut Random, turn: usize, path: &Path| {
        let case = Case::new(random, Taste::ALL);
        let [fused, unfused] = [Fusion::On, Fusion::Off].map(|fusion| case.trace(fusion));
        case.check(&format!("turn {turn} fused"), &fused, |inputs| fused.run(inputs));
        case.check(&format!("turn {turn} op by op"), &unfused, |inputs| unfused.run(inputs));

        let text = fused.graph().to_string();
        let again = Graph::parse(&text, REGISTRY.iter()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(*fused.graph() == again && again.to_string() == text, "turn {turn}:\n{text}\n{again}");

        fused.save(path).unwrap();
        let loaded = Loaded::from_file(path, REGISTRY.iter()).unwrap();
        // The second call takes the way of known layouts.
        for call in ["first", "second"] {
            case.check(&format!("turn {turn} loaded, {call} call"), &fused, |inputs| loaded.call(inputs));
        }
        case.dag.ops()
    };
    let half = |seed: u64| {
        let (mut random, path) = (Random::new(seed), folder.path().join(format!("{seed}.gems")));
        (0..2_500).map(|turn| check(&mut random, turn, &path)).sum::<usize>()
    };
    let n_ops = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(8));
        half(6) + other.join().unwrap()
    });
    assert!(n_ops > 40_000, "{n_ops} ops");
}

/// Kernels as the host's compiler builds them, those of many functions at a time.
#[cfg(feature = "host-run")]
mod generated {
    use super::*;
    use gems_tests::host_run::{self, BACK_ENDS};

    /// Functions whose kernels are built together.
    const ROUND: usize = 250;

    /// Random functions in rounds: builds the kernels of the forms that `trace` gives, then checks each one.
    fn check(
        random: &mut Random,
        rounds: usize,
        taste: Taste,
        forms: impl Fn(&Case) -> Vec<Form>,
        check: impl Fn(&str, Case, Vec<Form>),
    ) {
        for round in 0..rounds {
            let cases = (0..ROUND).map(|_| {
                let case = Case::new(random, taste);
                let forms = forms(&case);
                (case, forms)
            });
            let cases: Vec<(Case, Vec<Form>)> = cases.collect();
            let mut kernels = Vec::new();
            for (case, forms) in &cases {
                for form in forms {
                    let noted = host_run::kernels_of(|back_ends| {
                        case.outcome(|inputs| form.run_on(back_ends, inputs))
                    });
                    kernels.extend(noted.unwrap());
                }
            }
            host_run::prepare(&kernels).unwrap();
            for (turn, (case, forms)) in cases.into_iter().enumerate() {
                check(&format!("round {round} turn {turn}"), case, forms);
            }
        }
    }

    #[test]
    fn random_functions_give_the_bits_of_the_cpu_fused_and_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let half = |seed: u64| {
            let path = folder.path().join(format!("{seed}.gems"));
            let forms = |case: &Case| vec![case.trace(Fusion::On)];
            check(&mut Random::new(seed), 10, Taste::EXACT, forms, |what, case, forms| {
                let form = &forms[0];
                case.check(&format!("{what} fused"), form, |inputs| form.run_on(BACK_ENDS, inputs));
                form.save(&path).unwrap();
                let loaded = Loaded::from_file(&path, REGISTRY.iter()).unwrap();
                case.check(&format!("{what} loaded"), form, |inputs| loaded.run_on(BACK_ENDS, inputs));
            });
        };
        std::thread::scope(|scope| {
            scope.spawn(|| half(7));
            half(9);
        });
    }

    /// Whose last places are those of the host's mathematical library, which are not those of the CPU back end.
    #[test]
    fn random_functions_of_all_ops_give_the_same_bits_fused_and_op_by_op() {
        let forms = |case: &Case| [Fusion::Off, Fusion::On].map(|fusion| case.trace(fusion)).into();
        let taste = Taste { ops: 12, ..Taste::ALL };
        check(&mut Random::new(12), 1, taste, forms, |what, case, forms| {
            let expected = case.outcome(|inputs| forms[0].run_on(BACK_ENDS, inputs)).unwrap();
            let case = Case { expected, ..case };
            case.check(what, &forms[1], |inputs| forms[1].run_on(BACK_ENDS, inputs));
        });
    }
}

/// Kernels as NVRTC takes them, with rounded and with wide intermediates.
#[cfg(feature = "nvrtc")]
#[test]
fn kernels_of_random_functions_compile() {
    use gems_runtime::compile::{Arch, Nvrtc};

    let nvrtc = Nvrtc::get().expect("this test needs NVRTC");
    let mut random = Random::new(11);
    for turn in 0..20 {
        let case = Case::new(&mut random, Taste { ops: 12, ..Taste::ALL });
        let inputs: Vec<&StridedBuffer> = case.given.iter().collect();
        for rounding in [Rounding::Exact, Rounding::Wide] {
            let options = Options { rounding, ..Options::default() };
            let form = trace(&inputs, options, |inputs| case.dag.run(&inputs)).unwrap();
            for source in form.cuda_sources(&inputs).unwrap() {
                let (_, head) = source.split_once("__global__").unwrap();
                // The name stands on the line behind the bounds of the launch.
                let entry = head.lines().nth(1).and_then(|line| line.split('(').next()).unwrap();
                if let Err(error) = nvrtc.compile(&source, entry, Arch::from_number(90)) {
                    panic!("turn {turn}: {error}\n{source}");
                }
            }
        }
    }
}
