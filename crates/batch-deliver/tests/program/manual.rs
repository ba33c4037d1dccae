//! Completions for shells, and manual pages.

#[cfg(unix)]
use std::ffi::OsStr;
use std::io::Write;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use crate::program::Folder;
#[cfg(unix)]
use crate::program::Run;

/// The names of the commands in the help.
fn commands(folder: &Folder) -> Vec<String> {
    let help = folder.run("--help").stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // What is indented more is the rest of a description.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The long options in the help of a command.
fn options(folder: &Folder, command: &str) -> Vec<String> {
    let help = folder.run(&format!("{command} --help")).stdout;
    let words = help.split_whitespace().filter(|word| word.starts_with("--"));
    let names = words.map(|word| word.trim_end_matches(|end: char| !end.is_ascii_alphanumeric()));
    names
        .filter(|name| name.len() > 2 && help.contains(&format!("      {name}")))
        .map(str::to_owned)
        .collect()
}

/// What a tool says about a text, or nothing where the tool is not installed.
fn said(tool: &str, arguments: &[&str], text: &str) -> Option<String> {
    let tool = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = tool.ok()?;
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    Some(format!(
        "{}{words}",
        if output.status.success() { "" } else { "refused: " }
    ))
}

#[test]
fn shells_accept_their_completions_which_have_all_options_of_all_commands() {
    let folder = Folder::new();
    let checks: [(&str, &[&str]); 5] = [
        ("bash", &["-n"]),
        ("zsh", &["-n"]),
        ("fish", &["--no-execute"]),
        ("elvish", &["-compileonly", "-"]),
        ("powershell", &[]),
    ];
    let commands = commands(&folder);
    assert!(commands.contains(&"load".to_owned()), "{commands:?}");
    let options: Vec<_> = commands.iter().flat_map(|command| options(&folder, command)).collect();
    assert!(options.contains(&"--simulate".to_owned()), "{options:?}");
    for (shell, arguments) in checks {
        let run = folder.run(&format!("completions {shell}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        for name in commands.iter().chain(&options) {
            assert!(run.stdout.contains(name.trim_start_matches('-')), "{shell}: {name}");
        }
        // PowerShell has no check of a script on its standard input.
        if !arguments.is_empty() {
            let said = said(shell, arguments, &run.stdout);
            assert!(said.as_deref().is_none_or(str::is_empty), "{shell}: {said:?}");
        }
    }
}

#[test]
fn bash_completes_the_options_of_each_command() {
    let folder = Folder::new();
    folder.write("completions.bash", folder.run("completions bash").stdout);
    for command in commands(&folder) {
        let complete = format!(
            "source completions.bash; COMP_WORDS=(batch-deliver {command} --hel); COMP_CWORD=2; \
            _batch__deliver batch-deliver --hel {command}; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let Ok(bash) = bash.args(["-c", &complete]).current_dir(folder.path("")).output() else {
            return;
        };
        assert_eq!(String::from_utf8_lossy(&bash.stdout), "--help\n", "{bash:?}");
    }
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_each_command() {
    let folder = Folder::new();
    let commands = commands(&folder);
    for command in commands.iter().map(String::as_str).chain([""]) {
        let run = folder.run(&format!("man {command}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let page = run.stdout.replace("\\-", "-");
        let names = if command.is_empty() {
            commands.clone()
        } else {
            options(&folder, command)
        };
        for name in names {
            assert!(page.contains(&name), "{command}: {name}");
        }
        let title = [&["batch-deliver"][..], &[command]].concat().join("-");
        assert!(
            page.contains(&format!(".TH {} 1", title.trim_end_matches('-'))),
            "{page}"
        );
        let said = said("groff", &["-man", "-ww", "-z"], &run.stdout);
        assert!(said.as_deref().is_none_or(str::is_empty), "{command}: {said:?}");
    }
}

#[test]
fn help_is_a_command_too() {
    let folder = Folder::new();
    for (command, option) in [("help", "--help"), ("help load", "load --help")] {
        let run = folder.run(command);
        assert_eq!(run.expect(0, "").stdout, folder.run(option).stdout);
    }
    folder
        .run("help lod")
        .expect(2, "name one of load, update, delete, send");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf_8_is_refused_in_lines_without_escapes() {
    let folder = Folder::new();
    let mut load = folder.command("load --table items");
    let run = Run::from(load.arg(OsStr::from_bytes(b"\xff.jsonl")).output().unwrap());
    run.expect(2, "error: invalid UTF-8");
    assert!(!run.stderr.contains("\\n"), "{}", run.stderr);
}

#[test]
fn a_page_of_a_command_that_does_not_exist_names_those_that_do() {
    Folder::new()
        .run("man lod")
        .expect(2, "name one of load, update, delete, send");
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_printed_is_an_error() {
    let folder = Folder::new();
    for arguments in [
        "--help",
        "--version",
        "load --help",
        "help",
        "help load",
        "man",
        "completions bash",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let run = folder.command(arguments).stdout(full).output().unwrap();
        crate::program::Run::from(run).expect(1, "the standard output cannot be written: No space left on device");
    }
    folder.run("--help").expect(0, "");
}
