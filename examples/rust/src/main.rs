//! Convert a model from Rust:
//!
//!     cargo run -- net.pt net.onnx "x:float32[N,3,224,224]"
//!
//! With - for net.onnx the model goes to standard output, through an io::Write.

mod pt2onnx;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.len() < 2 {
        eprintln!("usage: embed MODEL OUT.onnx [SPEC..]\nwith pt2onnx {}", pt2onnx::version());
        return ExitCode::from(2);
    }
    let (model, out, inputs) = (&words[0], &words[1], &words[2..]);
    let mut last = String::new();
    let mut progress = |stage: &str, _share: f64| {
        if stage != last {
            eprintln!("{model}: .. {stage}");
            last = stage.to_string();
        }
    };
    let options = pt2onnx::Options {
        inputs: inputs.to_vec(),
        progress: Some(&mut progress),
        ..Default::default()
    };
    let done = if out == "-" {
        let mut to = io::stdout().lock();
        let done = pt2onnx::convert_to(&mut to, Path::new(model), options);
        if let (Ok(_), Err(e)) = (&done, to.flush()) {
            eprintln!("standard output: {e}");
            return ExitCode::from(3);
        }
        done
    } else {
        pt2onnx::convert(Path::new(model), Path::new(out), options)
    };
    let (notes, code) = match done {
        Ok(notes) => (notes, 0),
        Err(e) => {
            eprintln!("{e}");
            (e.notes, e.status as u8)
        }
    };
    for n in &notes {
        eprintln!("{model}: {}: {}", n.kind, n.text);
    }
    ExitCode::from(code)
}
