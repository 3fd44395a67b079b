//! A graph without writing in place: each write makes a new memory.
//!
//! Guarantees: what a step has read is never written afterwards, so derivatives can read it again. A write into a part
//! of a memory becomes a copy of all of it and a write into the copy, which nothing has read before.
//! Refuses writes to memory that the function was given: its gradient would be that of two values.

use super::graph::{ArgValue, Graph, Memory, MemoryId, NodeId, Op, OpArg, OpResult, Origin, View, Work};
use crate::error::{Error, ErrorKind, Result};
use crate::op::builtin::gradient_copy;
use smallvec::smallvec;
use std::collections::BTreeMap;

/// The memory that holds the last value of one that was written several times.
#[derive(Debug, Default)]
pub(super) struct Latest(BTreeMap<MemoryId, MemoryId>);

impl Latest {
    pub(super) fn of(&self, memory: MemoryId) -> MemoryId {
        self.0.get(&memory).copied().unwrap_or(memory)
    }
}

impl Graph {
    /// Rewrites the steps from `start` on.
    ///
    /// # Errors
    /// `Unsupported` if one of them writes to memory that was there before.
    pub(super) fn make_functional(&mut self, start: NodeId) -> Result<Latest> {
        let mut latest = Latest::default();
        for (step, mut op) in (start..).zip(self.nodes.split_off(start)) {
            for arg in &mut op.args {
                if let ArgValue::View(view) = &mut arg.value {
                    view.memory = latest.of(view.memory);
                }
            }
            let mut versions = BTreeMap::new();
            for &OpResult { view: View { memory, .. }, .. } in &op.results {
                match self.memories[memory].origin {
                    Origin::Result(maker) if maker == step => {}
                    // Several results may be parts of one memory; the copy is made before the op writes any of them.
                    Origin::Result(maker) if maker >= start => {
                        versions
                            .entry(memory)
                            .or_insert_with(|| self.new_version(memory, latest.of(memory), &op));
                    }
                    Origin::Input(_) | Origin::Result(_) => {
                        let message = format!(
                            "writes into `{}`, which the function was given; write into a copy of it to take gradients",
                            self.memories[memory].name
                        );
                        return Err(Error::new(ErrorKind::Unsupported, message).in_op(op.name()));
                    }
                }
            }
            latest.0.extend(versions);
            for result in &mut op.results {
                result.view.memory = latest.of(result.view.memory);
            }
            self.nodes.push(op);
        }
        self.number_makers(start);
        Ok(latest)
    }

    /// A new memory like this one, with the content of its last version unless the op writes all of it.
    fn new_version(&mut self, memory: MemoryId, latest: MemoryId, op: &Op) -> MemoryId {
        let Memory { name, meta, .. } = self.memories[memory].clone();
        let (dtype, whole) = (meta.dtype, meta.layout.clone());
        let node = self.nodes.len();
        let name = format!("{name}_{node}");
        self.memories.push(Memory { name, origin: Origin::Result(node), meta });
        let version = self.memories.len() - 1;
        if !op.writes().any(|view| view.memory == memory && view.layout == whole) {
            let value = ArgValue::View(View { memory: latest, layout: whole.clone() });
            self.nodes.push(Op {
                work: Work::Pointwise { op: gradient_copy::DEF, compute: dtype },
                args: smallvec![OpArg { value, chain: [dtype; 3] }],
                results: smallvec![OpResult {
                    view: View { memory: version, layout: whole },
                    chain: [dtype; 3]
                }],
            });
        }
        version
    }

    /// Notes for memories from `start` on which step makes each: the first that writes to it.
    fn number_makers(&mut self, start: NodeId) {
        for node in (start..self.nodes.len()).rev() {
            for result in &self.nodes[node].results {
                self.memories[result.view.memory].origin = Origin::Result(node);
            }
        }
    }
}
