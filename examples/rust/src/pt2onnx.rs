//! libpt2onnx in Rust, without crates: the declarations of pt2onnx.h that a conversion needs, and
//! safe functions around them.

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_double, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fmt, io, ptr, slice};

/// pt2onnx.h. Of pt2onnx_options only the first members are here: `size` says how many, and the
/// library has defaults for the others. They are in the header's order, so that one more is added
/// at the end, behind all that stand before it there.
mod c {
    use super::*;

    #[repr(C)]
    pub struct Options {
        pub size: usize,
        pub opset: c_int,
        pub mode: c_int,
        pub weights: c_int,
        pub target: c_int,
        pub keep_weights: c_int,
        pub dynamic: c_int,
        pub check_crc: c_int,
        pub inputs: *const *const c_char,
        pub n_inputs: usize,
        pub output_names: *const *const c_char,
        pub n_output_names: usize,
        pub rules: *const *const c_char,
        pub n_rules: usize,
        pub limits: *const *const c_char,
        pub n_limits: usize,
        pub dump_after: *const c_char,
        pub user: *mut c_void,
        pub on_note: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_char)>,
        pub on_progress: Option<unsafe extern "C" fn(*mut c_void, *const c_char, c_double)>,
    }

    #[repr(C)]
    pub struct Error {
        _private: [u8; 0],
    }

    pub type Write = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int;

    extern "C" {
        pub fn pt2onnx_version() -> *const c_char;
        pub fn pt2onnx_error_message(e: *const Error) -> *const c_char;
        pub fn pt2onnx_error_free(e: *mut Error);
        pub fn pt2onnx_convert(
            model: *const c_char,
            out: *const c_char,
            o: *const Options,
            e: *mut *mut Error,
        ) -> c_int;
        pub fn pt2onnx_convert_to(
            model: *const c_char,
            write: Write,
            write_user: *mut c_void,
            o: *const Options,
            e: *mut *mut Error,
        ) -> c_int;
    }
}

/// Options of a conversion. The default is right for most models.
#[derive(Default)]
pub struct Options<'a> {
    /// 9 to 28
    pub opset: Option<i32>,
    /// "x:float32[N,3,224,224]", as `pt2onnx -i` has them
    pub inputs: Vec<String>,
    /// Called while the model is converted; the share is -1 where it is not known.
    pub progress: Option<&'a mut dyn FnMut(&str, f64)>,
}

/// Something that was assumed, added, dropped or changed.
#[derive(Debug)]
pub struct Note {
    pub kind: &'static str,
    pub text: String,
}

/// What the library says. `status` is an exit code of the program: 1 cannot convert, 2 usage, 3
/// unreadable, 4 a bug of pt2onnx. What was assumed before it may explain it.
#[derive(Debug)]
pub struct Error {
    pub status: i32,
    pub message: String,
    pub notes: Vec<Note>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The version of the library that runs.
pub fn version() -> &'static str {
    unsafe { CStr::from_ptr(c::pt2onnx_version()) }
        .to_str()
        .unwrap_or("")
}

/// Write the ONNX file `out`; on an error there is none. Threads may convert at once.
pub fn convert(model: &Path, out: &Path, options: Options) -> Result<Vec<Note>, Error> {
    let out = c_string(out.as_os_str().as_bytes())?;
    run(model, options, |model, o, e| unsafe {
        c::pt2onnx_convert(model, out.as_ptr(), o, e)
    })
}

/// Write the model into `to`. It has to fit one file, so it is under 2 GB. What was written before
/// an error is no model.
pub fn convert_to(
    to: &mut dyn io::Write,
    model: &Path,
    options: Options,
) -> Result<Vec<Note>, Error> {
    let mut sink = Sink { to, failed: None };
    let user: *mut Sink = &mut sink;
    let done = run(model, options, |model, o, e| unsafe {
        c::pt2onnx_convert_to(model, write, user.cast(), o, e)
    });
    match (done, sink.failed) {
        (Err(e), Some(failed)) => Err(Error {
            message: failed.to_string(),
            ..e
        }),
        (done, _) => done,
    }
}

/// Makes the C options, calls, and takes the notes and the error back.
fn run<F>(model: &Path, options: Options, call: F) -> Result<Vec<Note>, Error>
where
    F: FnOnce(*const c_char, *const c::Options, *mut *mut c::Error) -> c_int,
{
    let model = c_string(model.as_os_str().as_bytes())?;
    let inputs = options
        .inputs
        .iter()
        .map(|s| c_string(s.as_bytes()))
        .collect::<Result<Vec<_>, _>>()?;
    let inputs: Vec<_> = inputs.iter().map(|s| s.as_ptr()).collect();
    let mut said = Said {
        notes: Vec::new(),
        progress: options.progress,
    };
    let o = c::Options {
        size: std::mem::size_of::<c::Options>(),
        opset: options.opset.unwrap_or(18),
        mode: 0,
        weights: 0,
        target: 0,
        keep_weights: 0,
        dynamic: 0,
        check_crc: 0,
        inputs: inputs.as_ptr(),
        n_inputs: inputs.len(),
        output_names: ptr::null(),
        n_output_names: 0,
        rules: ptr::null(),
        n_rules: 0,
        limits: ptr::null(),
        n_limits: 0,
        dump_after: ptr::null(),
        user: (&mut said as *mut Said).cast(),
        on_note: Some(note),
        on_progress: Some(progress),
    };
    let mut e = ptr::null_mut();
    let status = call(model.as_ptr(), &o, &mut e);
    if status == 0 {
        return Ok(said.notes);
    }
    let message = unsafe { text(c::pt2onnx_error_message(e)) };
    unsafe { c::pt2onnx_error_free(e) };
    Err(Error {
        status,
        message,
        notes: said.notes,
    })
}

/// What the callbacks of one conversion write to.
struct Said<'a> {
    notes: Vec<Note>,
    progress: Option<&'a mut dyn FnMut(&str, f64)>,
}

struct Sink<'a> {
    to: &'a mut dyn io::Write,
    failed: Option<io::Error>,
}

// A panic in one of these ends the process (Rust 1.81 and later): none may get out into C.

unsafe extern "C" fn note(user: *mut c_void, kind: c_int, at: *const c_char) {
    const KINDS: [&str; 5] = ["assumed", "added", "dropped", "changed", "info"];
    let said = &mut *user.cast::<Said>();
    let kind = KINDS.get(kind as usize).copied().unwrap_or("note"); // a later library may have more
    said.notes.push(Note {
        kind,
        text: text(at),
    });
}

unsafe extern "C" fn progress(user: *mut c_void, stage: *const c_char, share: c_double) {
    let said = &mut *user.cast::<Said>();
    if let Some(f) = &mut said.progress {
        f(&text(stage), share);
    }
}

unsafe extern "C" fn write(user: *mut c_void, bytes: *const c_void, n: usize) -> c_int {
    let sink = &mut *user.cast::<Sink>();
    match sink.to.write_all(slice::from_raw_parts(bytes.cast(), n)) {
        Ok(()) => 0,
        Err(e) => {
            sink.failed = Some(e);
            1
        }
    }
}

unsafe fn text(at: *const c_char) -> String {
    CStr::from_ptr(at).to_string_lossy().into_owned()
}

fn c_string(bytes: &[u8]) -> Result<CString, Error> {
    CString::new(bytes).map_err(|_| Error {
        status: 2,
        message: format!(
            "{}: a zero byte in it",
            String::from_utf8_lossy(bytes).escape_debug()
        ),
        notes: Vec::new(),
    })
}
