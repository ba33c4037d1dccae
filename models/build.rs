//! Marks the build, as `--cfg model` would for all packages.

fn main() {
    println!("cargo::rustc-cfg=model");
    println!("cargo::rerun-if-changed=build.rs");
}
