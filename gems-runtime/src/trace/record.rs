//! Recording of ops while a function runs on symbolic buffers.

use crate::buffer::{Meta, SymbolicBuffer};
use crate::dtype::Scalar;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::Layout;
use crate::op::OpDef;
use crate::plan::{Inference, Source};
use crate::trace::functional::Latest;
use crate::trace::graph::{
    ArgValue, Graph, Memory, MemoryId, NodeId, Op, OpArg, OpResult, Origin, View, Work,
};
use crate::trace::{Dim, Scope};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared handle of the graph of a running trace.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    graph: Arc<Mutex<Graph>>,
    /// That of all open sizes in the graph.
    scope: Scope,
}

thread_local! {
    /// The traces that run on this thread, each within the one before it.
    static RUNNING: RefCell<Vec<Recorder>> = const { RefCell::new(Vec::new()) };
}

/// The memory of a traced buffer.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    pub(crate) recorder: Recorder,
    pub(crate) memory: MemoryId,
}

/// An operand of a call that is recorded.
#[derive(Debug)]
pub(crate) enum Recorded<'a> {
    /// A buffer: its description and, if it belongs to a trace, its memory.
    Buffer(&'a Meta<Dim>, Option<&'a Traced>),
    /// A number.
    Number(Scalar),
}

impl Recorder {
    /// A trace of nothing so far, with sizes of this scope.
    pub(super) fn new(scope: &Scope) -> Recorder {
        Recorder { graph: Arc::default(), scope: scope.clone() }
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a function whose calls of numbers alone belong to this trace; other calls have operands that say so.
    pub(super) fn run<T>(&self, function: impl FnOnce() -> T) -> T {
        struct Running;
        impl Drop for Running {
            fn drop(&mut self) {
                let _ = RUNNING.try_with(|running| running.borrow_mut().pop());
            }
        }
        // A thread that is ending has no list any more.
        let _ = RUNNING.try_with(|running| running.borrow_mut().push(self.clone()));
        let _running = Running;
        function()
    }

    /// The trace that runs on this thread.
    pub(crate) fn running() -> Option<Recorder> {
        RUNNING.try_with(|running| running.borrow().last().cloned()).ok().flatten()
    }

    /// The graph so far.
    pub(crate) fn snapshot(&self) -> Graph {
        self.graph().clone()
    }

    /// Takes writing in place out of the steps from `start` on.
    ///
    /// # Errors
    /// As [`Graph::make_functional`].
    pub(super) fn make_functional(&self, start: NodeId) -> Result<Latest> {
        self.graph().make_functional(start)
    }

    /// Whether a layout is that of the whole memory.
    pub(super) fn is_whole(&self, memory: MemoryId, layout: &Layout<Dim>) -> bool {
        self.graph().memories[memory].meta.layout == *layout
    }

    /// The memory of a buffer; none if it does not belong to this trace.
    pub(super) fn memory(&self, buffer: &SymbolicBuffer) -> Option<MemoryId> {
        buffer.traced().filter(|traced| self.is_same(&traced.recorder)).map(|traced| traced.memory)
    }

    /// Checks that a view can be taken of a memory.
    ///
    /// # Errors
    /// `Shape` if it leaves the memory; `Value` if it has sizes of another trace.
    pub(crate) fn check_view(&self, memory: MemoryId, layout: &Layout<Dim>) -> Result<()> {
        self.check_sizes(layout)?;
        let whole = self.graph().memories[memory].meta.layout.clone();
        if whole.seen().contains(&layout.seen()) {
            return Ok(());
        }
        let message = format!("a view {layout:?} leaves its memory {whole:?}; take it from a larger buffer");
        Err(Error::new(ErrorKind::Shape, message))
    }

    /// Sizes of another scope have no value when the graph runs.
    fn check_sizes(&self, layout: &Layout<Dim>) -> Result<()> {
        let dims = layout.shape().iter().chain(layout.strides()).chain(layout.start().terms());
        match dims.clone().find(|dim| dim.scope().is_some_and(|scope| !scope.is_same(&self.scope))) {
            None => Ok(()),
            Some(other) => {
                let message = format!(
                    "the size {} is not of this trace; take sizes from its buffers, as `x.dims()` gives them",
                    other.text_as_asked()
                );
                Err(Error::new(ErrorKind::Value, message))
            }
        }
    }

    /// The memory of an input.
    pub(crate) fn input(&self, index: usize, name: &str, meta: &Meta<Dim>) -> Traced {
        let memory = Memory { name: name.to_owned(), origin: Origin::Input(index), meta: meta.clone() };
        Traced { recorder: self.clone(), memory: self.graph().add(memory) }
    }

    /// Records a call; `into` are the memories of given outputs, `None` where a result gets new memory.
    ///
    /// # Errors
    /// An operand or an output that does not belong to this trace, so that it has no value when the graph runs.
    pub(crate) fn record(
        &self,
        op: &'static OpDef,
        operands: &[Recorded<'_>],
        inference: &Inference<Dim>,
        into: &[Option<&Traced>],
    ) -> Result<Vec<Traced>> {
        let mut args = smallvec::SmallVec::new();
        for ((operand, input), param) in operands.iter().zip(&inference.inputs).zip(op.params) {
            let value = match operand {
                // Planning may have replaced a number that the dtype cannot hold.
                Recorded::Number(given) => ArgValue::Number(match input.source {
                    Source::Number(number) => number,
                    Source::Buffer { .. } | Source::HostValue { .. } => *given,
                }),
                Recorded::Buffer(meta, Some(traced)) if self.is_same(&traced.recorder) => {
                    ArgValue::View(View { memory: traced.memory, layout: meta.layout.clone() })
                }
                Recorded::Buffer(meta, _) => {
                    let message = format!(
                        "`{}` ({meta}) does not belong to this trace, so it has no value; pass it as an input",
                        param.name
                    );
                    return Err(Error::new(ErrorKind::Value, message).in_op(op.name));
                }
            };
            args.push(OpArg { value, chain: input.chain() });
        }
        let given = |position: usize| into.get(position).copied().flatten();
        for (position, (def, meta)) in op.outputs.iter().zip(&inference.outputs).enumerate() {
            self.check_sizes(&meta.layout).map_err(|error| error.in_op(op.name))?;
            if given(position).is_some_and(|traced| !self.is_same(&traced.recorder)) {
                let message = format!(
                    "output `{}` ({meta}) does not belong to this trace; make it from the inputs",
                    def.name
                );
                return Err(Error::new(ErrorKind::Value, message).in_op(op.name));
            }
            if given(position).is_none() {
                meta.seen().bytes().map_err(|error| error.in_op(op.name))?;
            }
        }
        let mut graph = self.graph();
        let node = graph.nodes.len();
        let mut traced = Vec::new();
        let mut results = smallvec::SmallVec::new();
        for (position, (def, meta)) in op.outputs.iter().zip(&inference.outputs).enumerate() {
            let memory = given(position).map(|traced| traced.memory).unwrap_or_else(|| {
                let name = if op.outputs.len() == 1 {
                    format!("{}_{node}", op.name)
                } else {
                    format!("{}_{node}_{}", op.name, def.name)
                };
                graph.add(Memory { name, origin: Origin::Result(node), meta: meta.clone() })
            });
            let lane = def.ty.resolve(inference.compute);
            let result = inference.results.get(position).copied().unwrap_or(lane);
            let view = View { memory, layout: meta.layout.clone() };
            results.push(OpResult { view, chain: [lane, result, meta.dtype] });
            traced.push(Traced { recorder: self.clone(), memory });
        }
        let work = Work::Pointwise { op, compute: inference.compute };
        graph.nodes.push(Op { work, args, results });
        Ok(traced)
    }

    /// Records the sums of a traced buffer over the axes along which `sums` is broadcast to it.
    ///
    /// # Errors
    /// `Value` if the sums have sizes of another trace.
    pub(crate) fn sum(&self, from: &Meta<Dim>, memory: MemoryId, sums: &Meta<Dim>) -> Result<Traced> {
        self.check_sizes(&sums.layout)?;
        let mut graph = self.graph();
        let node = graph.nodes.len();
        let name = format!("sum_{node}");
        let result = graph.add(Memory { name, origin: Origin::Result(node), meta: sums.clone() });
        let args = smallvec::smallvec![OpArg {
            value: ArgValue::View(View { memory, layout: from.layout.clone() }),
            chain: [from.dtype; 3],
        }];
        let results = smallvec::smallvec![OpResult {
            view: View { memory: result, layout: sums.layout.clone() },
            chain: [sums.dtype; 3],
        }];
        graph.nodes.push(Op { work: Work::Sum, args, results });
        Ok(Traced { recorder: self.clone(), memory: result })
    }

    fn is_same(&self, other: &Recorder) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph)
    }
}

impl Graph {
    fn add(&mut self, memory: Memory) -> MemoryId {
        self.memories.push(memory);
        self.memories.len() - 1
    }
}
