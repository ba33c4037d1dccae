//! Runs the program on a terminal, as a person does.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Runs it with its standard input and error on a terminal, on which this is typed. Returns the exit code and what is printed.
pub(crate) fn run(mut command: Command, typed: &str) -> (i32, String) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let path = OsStr::from_bytes(name.as_bytes());
    let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut child = command
        .stdin(terminal.try_clone().unwrap())
        .stderr(terminal)
        .spawn()
        .unwrap();
    // Its copies of the terminal would keep the reader below from seeing the end.
    drop(command);
    let mut controller = File::from(controller);
    controller.write_all(typed.as_bytes()).unwrap();
    let mut printed = controller.try_clone().unwrap();
    let printed = thread::spawn(move || {
        let mut text = Vec::new();
        // Where the last process has closed it, a terminal has an error instead of an end.
        let _ = printed.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let code = child.wait().unwrap().code().unwrap_or(-1);
    (code, printed.join().unwrap())
}
