//! Links OpenCSD's C library if the system has it (Debian: `libopencsd-dev`); without it the benchmark
//! measures ours alone.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(opencsd)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=OPENCSD_LIB_DIR");
    let given = std::env::var("OPENCSD_LIB_DIR").ok();
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/local/lib", "/usr/lib"];
    let found = given.as_deref().into_iter().chain(folders).find(|folder| {
        ["libopencsd_c_api.so", "libopencsd_c_api.a"].iter().any(|file| Path::new(folder).join(file).exists())
    });
    if let Some(folder) = found {
        println!("cargo::rustc-cfg=opencsd");
        println!("cargo::rustc-link-search=native={folder}");
        println!("cargo::rustc-link-lib=opencsd_c_api");
        println!("cargo::rustc-link-lib=opencsd");
    }
}
