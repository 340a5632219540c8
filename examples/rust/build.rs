//! Where the library is: what pkg-config says of pt2onnx.pc (PKG_CONFIG_PATH).

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let said = Command::new("pkg-config")
        .args(["--libs", "--cflags", "pt2onnx"])
        .output()
        .expect("pkg-config is not installed");
    if !said.status.success() {
        panic!("{}", String::from_utf8_lossy(&said.stderr));
    }
    for word in String::from_utf8_lossy(&said.stdout).split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
}
