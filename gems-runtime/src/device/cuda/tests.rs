//! Order, reuse and failure of streams and memory, against a driver that writes down what it is asked.
#![expect(unsafe_code, reason = "borrows handles of the fake driver and launches nothing")]

use std::sync::Arc;

use super::driver::Handle;
use super::fake::{self, calls, context};
use super::*;
use crate::compile::{Binary, BinaryKind};
use crate::error::ErrorKind;

const BYTES: usize = 4096;
const PLENTY: usize = 1 << 30;

fn streams<const N: usize>(ctx: &'static Context) -> [Stream; N] {
    let streams = std::array::from_fn(|_| Stream::new(ctx).unwrap());
    calls();
    streams
}

fn alloc(stream: &Stream) -> DeviceMemory {
    DeviceMemory::alloc(BYTES, stream).unwrap()
}

/// The number under which the log shows it.
fn number(stream: &Stream) -> usize {
    stream.raw().0.addr() / 16
}

/// That since the last look streams were ordered in exactly these pairs, each behind the other, and nothing else.
#[track_caller]
fn check_order(pairs: &[(&Stream, &Stream)]) {
    let log: Vec<_> = calls().into_iter().filter(|call| !call.starts_with("event")).collect();
    let event = log.first().and_then(|call| call.split(' ').nth(1)).unwrap_or_default().to_owned();
    let expected = pairs.iter().flat_map(|(first, behind)| {
        [format!("record {event} on {}", number(first)), format!("wait {} for {event}", number(behind))]
    });
    assert_eq!(log, expected.collect::<Vec<_>>());
}

#[test]
fn a_warm_allocation_asks_the_driver_nothing() {
    let [stream] = streams(context(PLENTY));
    let first = alloc(&stream).address();
    assert_eq!(calls(), ["alloc 4096"]);
    for bytes in [BYTES, BYTES - 100] {
        assert_eq!(DeviceMemory::alloc(bytes, &stream).unwrap().address(), first);
    }
    assert!(calls().is_empty());
    let stats = stream.context().memory_stats();
    assert_eq!((stats.reserved_bytes, stats.used_bytes), (BYTES, 0));
    assert_eq!((stats.allocations, stats.driver_allocations), (3, 1));
}

#[test]
fn uses_at_home_need_no_order() {
    let [home] = streams(context(PLENTY));
    let memory = alloc(&home);
    calls();
    memory.before_read(&home).unwrap();
    memory.before_write(&home.clone()).unwrap();
    drop(memory);
    check_order(&[]);
}

#[test]
fn a_read_elsewhere_waits_once_for_the_last_write() {
    let [home, other] = streams(context(PLENTY));
    let memory = alloc(&home);
    calls();
    memory.before_read(&other).unwrap();
    check_order(&[(&home, &other)]);
    memory.before_read(&other).unwrap();
    memory.before_read(&home).unwrap();
    check_order(&[]);
    // A new write at home waits for the reader, and the reader for it.
    memory.before_write(&home).unwrap();
    memory.before_read(&other).unwrap();
    check_order(&[(&other, &home), (&home, &other)]);
}

#[test]
fn a_write_elsewhere_waits_for_all_and_the_next_use_at_home_for_it() {
    let [home, reader, writer] = streams(context(PLENTY));
    let memory = alloc(&home);
    memory.before_read(&reader).unwrap();
    calls();
    memory.before_write(&writer).unwrap();
    check_order(&[(&reader, &writer), (&home, &writer)]);
    memory.before_read(&home).unwrap();
    check_order(&[(&writer, &home)]);
    memory.before_write(&writer).unwrap();
    check_order(&[(&home, &writer)]);
}

#[test]
fn freed_memory_is_handed_out_behind_its_uses_elsewhere() {
    let [home, reader, writer] = streams(context(PLENTY));
    let memory = alloc(&home);
    let address = memory.address();
    memory.before_write(&writer).unwrap();
    memory.before_read(&reader).unwrap();
    calls();
    drop(memory);
    check_order(&[(&writer, &home), (&reader, &home)]);
    assert_eq!(alloc(&home).address(), address);
    check_order(&[]);
}

#[test]
fn memory_of_an_ended_stream_is_handed_out_behind_an_event() {
    let [ended, other] = streams(context(PLENTY));
    let address = alloc(&ended).address();
    let number = number(&ended);
    calls();
    drop(ended);
    let log = calls();
    assert_eq!(log.len(), 3, "{log:?}");
    let event = log[0].strip_prefix("event ").unwrap().to_owned();
    assert_eq!(log[1..], [format!("record {event} on {number}"), format!("destroy stream {number}")]);
    assert_eq!(alloc(&other).address(), address);
    assert_eq!(calls(), [format!("wait {} for {event}", self::number(&other))]);
}

#[test]
fn a_stream_lives_as_long_as_memory_that_calls_it_home() {
    let [home] = streams(context(PLENTY));
    let (memory, name) = (alloc(&home), format!("destroy stream {}", number(&home)));
    drop(home);
    assert!(!calls().contains(&name));
    drop(memory);
    assert!(calls().contains(&name));
}

#[test]
fn a_full_device_gives_the_cache_back_before_it_fails() {
    let ctx = context(3 * BYTES);
    let [a, b] = streams(ctx);
    drop((alloc(&a), DeviceMemory::alloc(BYTES / 2, &b).unwrap()));
    calls();
    let memory = DeviceMemory::alloc(3 * BYTES, &a).unwrap();
    let expected = ["alloc 12288".into(), format!("wait for stream {}", number(&a)), "free 4096".into()];
    let rest = [format!("wait for stream {}", number(&b)), "free 2048".into(), "alloc 12288".into()];
    assert_eq!(calls(), [expected, rest].concat());
    let error = DeviceMemory::alloc(100, &b).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    let text = error.to_string();
    assert!(
        text.contains("cannot allocate 100 bytes on cuda:0: 0 of") && text.contains("hold 12288"),
        "{text}"
    );
    drop(memory);
    assert_eq!(alloc(&a).bytes(), BYTES, "and then works again");
}

#[test]
fn trim_keeps_live_memory_and_frees_orphans() {
    let ctx = context(PLENTY);
    let [a, ended] = streams(ctx);
    let live = alloc(&a);
    drop((alloc(&a), alloc(&ended)));
    drop(ended);
    assert_eq!(ctx.trim().unwrap(), 2 * BYTES);
    assert_eq!((ctx.memory_stats().reserved_bytes, ctx.trim().unwrap()), (BYTES, 0));
    drop(live);
}

#[test]
fn a_failing_wait_makes_trim_an_error_and_loses_nothing() {
    let ctx = context(PLENTY);
    let [stream] = streams(ctx);
    let address = alloc(&stream).address();
    fake::with(|fake| fake.failures.insert("wait for stream", 700));
    let error = ctx.trim().unwrap_err();
    assert!(error.to_string().contains("outside its buffers"), "{error}");
    assert_eq!(alloc(&stream).address(), address);
}

#[test]
fn what_trim_could_not_give_back_stays_in_the_cache() {
    for (failing, kept) in [("free", 4 * BYTES), ("wait for event", 2 * BYTES)] {
        let ctx = context(PLENTY);
        let [stream, first, second] = streams(ctx);
        drop([alloc(&stream), alloc(&stream), alloc(&first), alloc(&second)]);
        drop((first, second));
        fake::with(|fake| fake.failures.insert(failing, 700));
        assert!(ctx.trim().is_err());
        fake::with(|fake| fake.failures.clear());
        assert_eq!(ctx.memory_stats().reserved_bytes, kept, "{failing}");
        assert_eq!((ctx.trim().unwrap(), ctx.memory_stats().reserved_bytes), (kept, 0), "{failing}");
    }
}

#[test]
fn an_error_in_a_destructor_is_no_panic_and_keeps_the_memory_out_of_use() {
    let [home, other] = streams(context(PLENTY));
    let memory = alloc(&home);
    let address = memory.address();
    memory.before_read(&other).unwrap();
    fake::with(|fake| fake.failures.insert("record", 700));
    drop(memory);
    assert_ne!(alloc(&home).address(), address);
    fake::with(|fake| fake.failures.insert("destroy stream", 700));
    drop((home, other));
}

/// A stream that somebody else may capture, and a way to do it.
fn borrowed(ctx: &'static Context, number: usize) -> Stream {
    // SAFETY: the fake driver takes any handle.
    unsafe { Stream::borrowed(ctx, std::ptr::without_provenance_mut(number * 16), Arc::new(())) }.unwrap()
}

fn begin_capture(stream: &Stream, id: u64) {
    fake::with(|fake| fake.captures.insert(stream.raw(), id));
}

fn end_captures() {
    fake::with(|fake| fake.captures.clear());
}

#[test]
fn captured_memory_is_reused_in_its_capture_only_until_the_graph_is_gone() {
    let ctx = context(PLENTY);
    let stream = borrowed(ctx, 1000);
    let before = alloc(&stream).address();
    begin_capture(&stream, 7);
    let (kept, freed) = (alloc(&stream), alloc(&stream).address());
    assert!(
        kept.address() != before && freed != before,
        "memory from before the capture is not for the graph"
    );
    assert_eq!(alloc(&stream).address(), freed, "within the capture it is reused");
    end_captures();
    let eager = [alloc(&stream), alloc(&stream)];
    assert!(eager.iter().all(|memory| ![kept.address(), freed].contains(&memory.address())));
    begin_capture(&stream, 8);
    assert_ne!(alloc(&stream).address(), freed, "another graph has memory of its own");
    end_captures();

    calls();
    fake::destroy_graphs();
    assert!(calls().is_empty(), "the end of a graph must not call the driver");
    let [first, second] = [alloc(&stream).address(), kept.address()];
    drop(kept);
    assert_eq!(alloc(&stream).address(), second);
    assert_ne!(first, second);
    assert!(calls().is_empty(), "all of it comes from the cache");
}

#[test]
fn captured_memory_returns_when_the_graph_ends_before_its_handle() {
    let stream = borrowed(context(PLENTY), 1000);
    begin_capture(&stream, 7);
    let memory = alloc(&stream);
    let address = memory.address();
    end_captures();
    fake::destroy_graphs();
    drop(memory);
    assert_eq!(alloc(&stream).address(), address);
}

#[test]
fn a_graph_that_takes_no_object_makes_the_allocation_an_error() {
    for failing in ["object", "tie object"] {
        let ctx = context(PLENTY);
        let stream = borrowed(ctx, 1000);
        begin_capture(&stream, 7);
        fake::with(|fake| fake.failures.insert(failing, 801));
        assert_eq!(DeviceMemory::alloc(BYTES, &stream).unwrap_err().kind(), ErrorKind::Driver);
        fake::with(|fake| fake.failures.clear());
        assert!(DeviceMemory::alloc(BYTES, &stream).is_ok());
        end_captures();
        fake::destroy_graphs();
    }
}

#[test]
fn a_capture_does_not_wait_for_work_outside_and_a_fork_joins_it() {
    let ctx = context(PLENTY);
    let [home] = streams(ctx);
    let (captured, fork) = (borrowed(ctx, 1000), borrowed(ctx, 1001));
    let input = alloc(&home);
    begin_capture(&captured, 7);
    calls();
    input.before_read(&captured).unwrap();
    check_order(&[]);
    let inner = alloc(&captured);
    calls();
    inner.before_read(&fork).unwrap();
    check_order(&[(&captured, &fork)]);
    // The wait made the fork part of the capture, and so the end of the memory is ordered within it.
    begin_capture(&fork, 7);
    drop(inner);
    check_order(&[(&fork, &captured)]);
    // The end of the input is no part of it.
    drop(input);
    check_order(&[]);
}

/// Its use from before the capture may still run, and nothing can be ordered behind that until the capture ends.
#[test]
fn memory_of_an_earlier_use_that_is_dropped_in_a_capture_stays_unused() {
    let ctx = context(PLENTY);
    let [home] = streams(ctx);
    let other = borrowed(ctx, 1000);
    let used: [DeviceMemory; 3] = std::array::from_fn(|_| alloc(&home));
    let addresses = used.each_ref().map(DeviceMemory::address);
    let [before, captured, after] = used;
    before.before_write(&other).unwrap();
    begin_capture(&other, 7);
    captured.before_read(&other).unwrap();
    drop(before);
    drop(captured);
    let reused = [alloc(&home), alloc(&home)].map(|memory| memory.address());
    assert!(!reused.contains(&addresses[0]), "it may still be written");
    assert!(reused.contains(&addresses[1]), "the graph is ordered by whoever launches it");
    after.before_read(&other).unwrap();
    end_captures();
    begin_capture(&other, 8);
    drop(after);
    let reused: [DeviceMemory; 3] = std::array::from_fn(|_| alloc(&home));
    assert!(reused.iter().all(|memory| memory.address() != addresses[2]), "its capture has ended");
}

#[test]
fn a_stream_that_waits_for_a_captured_one_is_asked_for_its_capture() {
    let ctx = context(PLENTY);
    let [own] = streams(ctx);
    begin_capture(&own, 7);
    assert_eq!(own.capture_id().unwrap(), None, "nobody can have captured it");
    own.wait_for(&borrowed(ctx, 1000)).unwrap();
    assert_eq!(own.capture_id().unwrap(), Some(7));
    let [shown] = streams(ctx);
    begin_capture(&shown, 7);
    let _raw = shown.as_raw();
    assert_eq!(shown.capture_id().unwrap(), Some(7));
}

#[test]
fn host_copies_are_refused_in_a_capture_and_wait_otherwise() {
    let ctx = context(PLENTY);
    let stream = borrowed(ctx, 1000);
    let memory = alloc(&stream);
    begin_capture(&stream, 7);
    calls();
    assert_eq!(memory.copy_from_host(0, &[0], &stream).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(memory.copy_to_host(0, &mut [0], &stream).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(calls().is_empty());
    end_captures();
    memory.copy_to_host(0, &mut [0], &stream).unwrap();
    assert_eq!(calls(), ["copy out on 1000", "wait for stream 1000"]);
    fake::with(|fake| fake.failures.insert("copy in", 700));
    assert!(memory.copy_from_host(0, &[0], &stream).is_err());
    assert_eq!(calls(), ["copy in on 1000", "wait for stream 1000"], "also after a failure");
}

#[test]
fn the_context_of_the_caller_is_restored_and_ours_stays_where_there_was_none() {
    let ctx = context(PLENTY);
    assert_eq!(fake::with(|fake| fake.current), None);
    ctx.synchronize().unwrap();
    let ours = ctx.as_raw().addr() / 16;
    assert_eq!(calls(), [format!("current {ours}"), "synchronize".into()]);
    ctx.synchronize().unwrap();
    assert_eq!(calls(), ["synchronize"]);
    fake::with(|fake| fake.current = Some(Handle(std::ptr::without_provenance_mut(99 * 16))));
    ctx.synchronize().unwrap();
    assert_eq!(calls(), [format!("current {ours}"), "synchronize".into(), "current 99".into()]);
}

#[test]
fn a_warm_launch_is_one_call() {
    let ctx = context(PLENTY);
    let [stream] = streams(ctx);
    let binary = Binary { kind: BinaryKind::Cubin, bytes: vec![1] };
    let function = Function::load(ctx, &binary, "f").unwrap();
    let memory = alloc(&stream);
    calls();
    memory.before_write(&stream).unwrap();
    // SAFETY: the fake driver runs nothing.
    unsafe { function.launch(&stream, [1; 3], [1; 3], 0, &[]) }.unwrap();
    let log = calls();
    assert!(log.len() == 1 && log[0].starts_with("launch"), "{log:?}");
    let [elsewhere] = streams(context(PLENTY));
    // SAFETY: as above.
    let refused = unsafe { function.launch(&elsewhere, [1; 3], [1; 3], 0, &[]) };
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Device);
}

#[test]
fn borrowed_memory_lets_its_owner_go_behind_our_uses() {
    let ctx = context(PLENTY);
    let [home, other] = streams(ctx);
    let owner = Arc::new(());
    // SAFETY: the fake driver runs nothing.
    let memory = unsafe { DeviceMemory::borrowed(4096, BYTES, &home, Arc::clone(&owner) as _) };
    memory.before_read(&other).unwrap();
    assert_eq!(Arc::strong_count(&owner), 2);
    calls();
    drop(memory);
    check_order(&[(&other, &home)]);
    assert_eq!(Arc::strong_count(&owner), 1);
    assert_eq!(ctx.memory_stats(), MemoryStats::default());
}

#[test]
fn memory_of_another_device_is_copied_as_a_peer() {
    let (ctx, other) = (context(PLENTY), context(PLENTY));
    let ([stream], [far]) = (streams(ctx), streams(other));
    let (to, from) = (alloc(&stream), alloc(&far));
    calls();
    to.copy_from(0, &from, 0, BYTES, &stream).unwrap();
    let log: Vec<_> = calls().into_iter().filter(|call| !call.starts_with("current")).collect();
    assert_eq!(log.last().unwrap(), &format!("copy to peer on {}", number(&stream)));
    assert!(log.iter().any(|call| call.starts_with(&format!("wait {} for", number(&stream)))), "{log:?}");
    assert_eq!(to.copy_from_host(0, &[0], &far).unwrap_err().kind(), ErrorKind::Device);
}

#[test]
fn the_innermost_scope_of_a_device_names_the_stream_of_calls() {
    let ctx = context(PLENTY);
    let [a, b] = streams(ctx);
    let default = ctx.default_stream().unwrap();
    let current = || (*ctx.current_stream().unwrap()).clone();
    assert_eq!(&current(), default);
    let seen = a.scope(|| [current(), b.scope(current), current()]);
    assert_eq!(seen, [a.clone(), b.clone(), a.clone()]);
    // A scope of another device counts there alone, and a panic ends its scope.
    let [elsewhere] = streams(context(PLENTY));
    assert_eq!(a.scope(|| elsewhere.scope(current)), a);
    let panicked =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| a.scope(|| panic!("to be caught"))));
    assert!(panicked.is_err());
    assert_eq!(&current(), default);
}
