//! OpenCSD through its C interface, as far as the benchmark needs it.

#[cfg(opencsd)]
pub mod opencsd;

/// CPU time of this process in seconds: what others do on the machine does not count.
pub fn cpu_seconds() -> f64 {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` is a timespec as 64-bit Linux has it, and lives through the call.
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.seconds as f64 + time.nanoseconds as f64 * 1e-9
}
