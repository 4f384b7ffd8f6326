//! Links OpenCSD's C library where the feature asks for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=OPENCSD_LIB_DIR");
    if std::env::var_os("CARGO_FEATURE_OPENCSD").is_some() {
        if let Ok(folder) = std::env::var("OPENCSD_LIB_DIR") {
            println!("cargo::rustc-link-search=native={folder}");
        }
        println!("cargo::rustc-link-lib=opencsd_c_api");
        println!("cargo::rustc-link-lib=opencsd");
    }
}
