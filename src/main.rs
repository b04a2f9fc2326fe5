//! The program: `rentroll`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything speaks TLS. It fails only where another provider was installed, and nothing has run yet.
    rustls::crypto::ring::default_provider().install_default().expect("the first and only provider");
    rentroll::cli::run(&std::env::args_os().collect::<Vec<_>>())
}
