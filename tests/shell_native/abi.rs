//! The border to the real shell: the imports that the SDK and the shell declare, over [`Host`], and
//! the exports that Envoy calls.
//!
//! On wasm the host fills in the imports; on the native target they are symbols nobody defines,
//! until this file does.
#![allow(
    unsafe_code,
    reason = "an ABI of raw pointers: the only place of this test where they are touched"
)]

use proxy_wasm::types::{Action, BufferType, LogLevel, MapType, MetricType, Status, StreamType};

use super::host::{self, Host};
use super::vm::{die, in_vm};

/// Runs an import on the host of this thread's VM.
fn import(call: impl FnOnce(&mut Host) -> Status) -> Status {
    host::with(call)
}

/// What a pointer and a size name.
///
/// # Safety
/// `data` is null or points to `size` bytes that live as long as the import runs.
unsafe fn bytes<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if data.is_null() || size == 0 {
        return &[];
    }
    // SAFETY: by the caller's word.
    unsafe { std::slice::from_raw_parts(data, size) }
}

/// # Safety
/// As for [`bytes`]; the SDK gives names as `&str`.
unsafe fn text<'a>(data: *const u8, size: usize) -> &'a str {
    // SAFETY: by the caller's word.
    match std::str::from_utf8(unsafe { bytes(data, size) }) {
        Ok(text) => text,
        Err(_) => die("a name is not UTF-8"),
    }
}

/// Hands a value over to the SDK, which frees it. Nothing is a null pointer, as with Envoy.
///
/// # Safety
/// Both pointers are valid for a write.
unsafe fn hand_over(value: Option<Vec<u8>>, data: *mut *mut u8, size: *mut usize) {
    let value = value.unwrap_or_default().into_boxed_slice();
    // SAFETY: by the caller's word.
    unsafe {
        *size = value.len();
        *data = match value.is_empty() {
            true => std::ptr::null_mut(),
            false => Box::into_raw(value).cast(),
        };
    }
}

// SAFETY, for each import below: the SDK calls them with pointers to its own slices and variables,
// and with the sizes of those.

#[unsafe(no_mangle)]
extern "C" fn proxy_log(level: LogLevel, data: *const u8, size: usize) -> Status {
    // SAFETY: see above.
    let line = unsafe { bytes(data, size) };
    let line = String::from_utf8_lossy(line).into_owned();
    // The SDK's panic hook speaks at this level, for every thread of the process.
    if level == LogLevel::Critical {
        if in_vm() {
            die(&line);
        }
        eprintln!("{line}");
        return Status::Ok;
    }
    import(|host| host.log(level, line))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_log_level(level: *mut LogLevel) -> Status {
    import(|host| {
        // SAFETY: see above.
        unsafe { *level = host.log_level() };
        Status::Ok
    })
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_tick_period_milliseconds(period: u32) -> Status {
    import(|host| host.tick_every(period))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_buffer_bytes(
    buffer: BufferType,
    start: usize,
    max: usize,
    data: *mut *mut u8,
    size: *mut usize,
) -> Status {
    import(|host| match host.buffer(buffer, start, max) {
        Ok(value) => {
            // SAFETY: see above.
            unsafe { hand_over(Some(value), data, size) };
            Status::Ok
        }
        Err(status) => status,
    })
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_header_map_pairs(
    map: MapType,
    data: *mut *mut u8,
    size: *mut usize,
) -> Status {
    import(|host| match host.header_pairs(map) {
        Ok(pairs) => {
            // SAFETY: see above.
            unsafe { hand_over(pairs.map(|pairs| serialize(&pairs)), data, size) };
            Status::Ok
        }
        Err(status) => status,
    })
}

/// The ABI's form of a header map: a count, the sizes, then all names and values, each ended by 0.
fn serialize(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let number = |n: usize| (n as u32).to_le_bytes();
    let mut out = number(pairs.len()).to_vec();
    for (name, value) in pairs {
        out.extend(number(name.len()));
        out.extend(number(value.len()));
    }
    for part in pairs.iter().flat_map(|(name, value)| [name, value]) {
        out.extend_from_slice(part);
        out.push(0);
    }
    out
}

/// Reads what [`serialize`] writes.
fn deserialize(bytes: &[u8]) -> Vec<(String, String)> {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
        four.map_or_else(|| die("a header map is cut short"), u32::from_le_bytes) as usize
    };
    let count = number(0);
    let mut at = 4 + count * 8;
    let mut take = |size: usize| {
        let part = bytes.get(at..at + size).unwrap_or_default();
        at += size + 1;
        String::from_utf8_lossy(part).into_owned()
    };
    (0..count)
        .map(|n| (take(number(4 + n * 8)), take(number(8 + n * 8))))
        .collect()
}

#[unsafe(no_mangle)]
extern "C" fn proxy_replace_header_map_value(
    map: MapType,
    name: *const u8,
    name_size: usize,
    value: *const u8,
    value_size: usize,
) -> Status {
    // SAFETY: see above.
    let (name, value) = unsafe { (text(name, name_size), bytes(value, value_size)) };
    import(|host| host.replace_header(map, name, value))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_add_header_map_value(
    map: MapType,
    name: *const u8,
    name_size: usize,
    value: *const u8,
    value_size: usize,
) -> Status {
    // SAFETY: see above.
    let (name, value) = unsafe { (text(name, name_size), bytes(value, value_size)) };
    import(|host| host.add_header(map, name, value))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_remove_header_map_value(
    map: MapType,
    name: *const u8,
    name_size: usize,
) -> Status {
    // SAFETY: see above.
    let name = unsafe { text(name, name_size) };
    import(|host| host.remove_header(map, name))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_property(
    path: *const u8,
    path_size: usize,
    data: *mut *mut u8,
    size: *mut usize,
) -> Status {
    // SAFETY: see above.
    let path = unsafe { text(path, path_size) };
    import(|host| match host.property(path) {
        Ok(value) => {
            // SAFETY: see above.
            unsafe { hand_over(Some(value), data, size) };
            Status::Ok
        }
        Err(status) => status,
    })
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_property(
    path: *const u8,
    path_size: usize,
    value: *const u8,
    value_size: usize,
) -> Status {
    // SAFETY: see above.
    let (path, value) = unsafe { (text(path, path_size), bytes(value, value_size)) };
    import(|host| host.set_property(path, value))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_get_shared_data(
    key: *const u8,
    key_size: usize,
    data: *mut *mut u8,
    size: *mut usize,
    cas: *mut u32,
) -> Status {
    // SAFETY: see above.
    let key = unsafe { text(key, key_size) };
    import(|host| match host.shared_data(key) {
        Some((value, number)) => {
            // SAFETY: see above.
            unsafe {
                hand_over(Some(value), data, size);
                *cas = number;
            }
            Status::Ok
        }
        None => Status::NotFound,
    })
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_shared_data(
    key: *const u8,
    key_size: usize,
    value: *const u8,
    value_size: usize,
    cas: u32,
) -> Status {
    // SAFETY: see above.
    let (key, value) = unsafe { (text(key, key_size), bytes(value, value_size)) };
    import(|host| host.set_shared_data(key, value, cas))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_register_shared_queue(
    name: *const u8,
    name_size: usize,
    queue: *mut u32,
) -> Status {
    // SAFETY: see above.
    let name = unsafe { text(name, name_size) };
    import(|host| {
        // SAFETY: see above.
        unsafe { *queue = host.register_queue(name) };
        Status::Ok
    })
}

#[unsafe(no_mangle)]
extern "C" fn proxy_enqueue_shared_queue(queue: u32, value: *const u8, size: usize) -> Status {
    // SAFETY: see above.
    let value = unsafe { bytes(value, size) };
    import(|host| host.enqueue(queue, value))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_dequeue_shared_queue(
    queue: u32,
    data: *mut *mut u8,
    size: *mut usize,
) -> Status {
    import(|host| match host.dequeue(queue) {
        Ok(value) => {
            // SAFETY: see above.
            unsafe { hand_over(Some(value), data, size) };
            Status::Ok
        }
        Err(status) => status,
    })
}

#[unsafe(no_mangle)]
extern "C" fn proxy_continue_stream(stream: StreamType) -> Status {
    import(|host| host.resume(stream))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_send_local_response(
    status: u32,
    _details: *const u8,
    _details_size: usize,
    body: *const u8,
    body_size: usize,
    headers: *const u8,
    headers_size: usize,
    _grpc_status: i32,
) -> Status {
    // SAFETY: see above.
    let (body, headers) = unsafe { (bytes(body, body_size), bytes(headers, headers_size)) };
    import(|host| host.reply(status, deserialize(headers), body))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_set_effective_context(context: u32) -> Status {
    import(|host| host.turn_to(context))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_define_metric(
    kind: MetricType,
    name: *const u8,
    name_size: usize,
    id: *mut u32,
) -> Status {
    // SAFETY: see above.
    let name = unsafe { text(name, name_size) };
    import(|host| {
        // SAFETY: see above.
        unsafe { *id = host.define_metric(kind, name) };
        Status::Ok
    })
}

#[unsafe(no_mangle)]
extern "C" fn proxy_record_metric(metric: u32, value: u64) -> Status {
    import(|host| host.record_metric(metric, value))
}

#[unsafe(no_mangle)]
extern "C" fn proxy_increment_metric(metric: u32, offset: i64) -> Status {
    import(|host| host.increment_metric(metric, offset))
}

#[unsafe(no_mangle)]
extern "C" fn clock_time_get(clock: u32, _precision: u64, time: *mut u64) -> u16 {
    let now = host::with(|host| host.clock(clock));
    if let Some(now) = now {
        // SAFETY: see above.
        unsafe { *time = now };
    }
    u16::from(now.is_none())
}

#[unsafe(no_mangle)]
extern "C" fn random_get(buffer: *mut u8, size: usize) -> u16 {
    let drawn = host::with(|host| host.entropy(size));
    if let Some(drawn) = &drawn {
        // SAFETY: the shell gives a buffer of `size` bytes, and `drawn` has as many.
        unsafe { std::ptr::copy_nonoverlapping(drawn.as_ptr(), buffer, drawn.len()) };
    }
    u16::from(drawn.is_none())
}

#[unsafe(no_mangle)]
extern "C" fn proxy_call_foreign_function(
    name: *const u8,
    name_size: usize,
    _arguments: *const u8,
    _arguments_size: usize,
    _results: *mut *mut u8,
    _results_size: *mut usize,
) -> Status {
    // SAFETY: see above.
    match unsafe { text(name, name_size) } {
        "clear_route_cache" => Status::Ok,
        _ => Status::NotFound,
    }
}

/// Imports of the SDK that the shell has no use for. The linker wants them, nobody calls them, and so
/// their arguments do not matter.
macro_rules! without_use {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> Status {
            die(concat!(stringify!($name), " is of no use to the shell"))
        }
    )*};
}

without_use! {
    proxy_get_current_time_nanoseconds
    proxy_set_buffer_bytes
    proxy_set_header_map_pairs
    proxy_get_header_map_value
    proxy_resolve_shared_queue
    proxy_close_stream
    proxy_http_call
    proxy_grpc_call
    proxy_grpc_stream
    proxy_grpc_send
    proxy_grpc_cancel
    proxy_grpc_close
    proxy_get_status
    proxy_done
    proxy_get_metric
}

/// What Envoy calls in a VM.
pub(crate) mod exports {
    use super::Action;

    unsafe extern "C" {
        pub(crate) safe fn _initialize();
        pub(crate) safe fn proxy_on_context_create(context: u32, root: u32);
        pub(crate) safe fn proxy_on_vm_start(root: u32, size: usize) -> bool;
        pub(crate) safe fn proxy_on_configure(root: u32, size: usize) -> bool;
        pub(crate) safe fn proxy_on_tick(root: u32);
        pub(crate) safe fn proxy_on_queue_ready(root: u32, queue: u32);
        pub(crate) safe fn proxy_on_request_headers(context: u32, n: usize, end: bool) -> Action;
        pub(crate) safe fn proxy_on_request_body(context: u32, size: usize, end: bool) -> Action;
        pub(crate) safe fn proxy_on_request_trailers(context: u32, n: usize) -> Action;
        pub(crate) safe fn proxy_on_response_headers(context: u32, n: usize, end: bool) -> Action;
        pub(crate) safe fn proxy_on_response_body(context: u32, size: usize, end: bool) -> Action;
        pub(crate) safe fn proxy_on_response_trailers(context: u32, n: usize) -> Action;
        pub(crate) safe fn proxy_on_log(context: u32);
        pub(crate) safe fn proxy_on_done(context: u32) -> bool;
        pub(crate) safe fn proxy_on_delete(context: u32);
    }
}
