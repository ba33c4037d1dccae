//! The commands that write an output: how each is run, and how another program reads what it has written.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use aws_batch_simulator::InjectedFault;
use serde_json::Value;

use crate::outputs::{Found, Output};
use crate::program::{Folder, Run, interrupt, items};
use crate::served::Served;

/// How long a run may take to its middle, and from there to its end.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

pub(crate) const ENTRIES: u32 = 60;

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Whole,
    /// The service refuses.
    Denied,
    /// The standard output is closed from the beginning.
    Closed,
    /// It is interrupted while the service throttles it.
    Interrupted,
}

/// A command that writes an output, the place of which is `OUTPUT`.
pub(crate) struct Writer {
    pub(crate) command: &'static str,
    /// The ends that it can come to.
    pub(crate) ends: &'static [End],
    /// Which outputs it takes as what they are.
    pub(crate) takes: Takes,
    /// Its exit code if nothing is wrong with the output.
    pub(crate) code: i32,
    pub(crate) fill: fn(&Folder, &Served),
    /// Its standard input, which stays open until it is interrupted.
    input: fn() -> String,
    /// All numbers that it is to write.
    pub(crate) all: fn() -> BTreeSet<u64>,
    /// The number in a line.
    number: fn(&Value) -> Option<u64>,
    /// The words of its report behind the number of what it has written.
    told: Option<&'static str>,
    /// The numbers that are safe in another place: still in the source, or delivered.
    pub(crate) elsewhere: Option<fn(&Folder, &Served) -> BTreeSet<u64>>,
    /// Lets the service throttle after these calls.
    throttle: fn(&Served),
    /// Whether it is throttled.
    is_throttled: fn(&Folder, &Served) -> bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    All,
    AllButADash,
    /// A pipe, a device and the standard output are refused.
    Files,
    /// Its output is its standard output, which the shell opens.
    Redirected,
}

const ENDS: &[End] = &[End::Whole, End::Denied, End::Closed, End::Interrupted];

pub(crate) const WRITERS: &[Writer] = &[
    EXPORT,
    DRAIN,
    LOAD,
    SEND,
    CONDITION,
    PLAN,
    #[cfg(feature = "spool")]
    SPOOL,
];

pub(crate) const EXPORT: Writer = Writer {
    command: "export --table items --format json --segments 2 OUTPUT",
    ends: ENDS,
    takes: Takes::All,
    code: 0,
    fill: |folder, served| load(folder, served, 0..ENTRIES),
    input: String::new,
    all: || (0..u64::from(ENTRIES)).collect(),
    number: |line| line["id"].as_u64(),
    told: Some(" items of items written"),
    elsewhere: None,
    throttle: |served| served.table.script_reads(throttled_after(1)),
    is_throttled: |_, served| served.table.read_statistics().calls > 3,
};

pub(crate) const DRAIN: Writer = Writer {
    command: "drain --queue q --max 60 OUTPUT",
    ends: ENDS,
    takes: Takes::All,
    code: 0,
    fill: |folder, served| {
        folder.write("filled", bodies());
        let send = format!("send --queue q {} filled", served.arguments());
        folder.run(&send).expect(0, "delivered");
    },
    input: String::new,
    all: || (0..u64::from(ENTRIES)).collect(),
    number: |line| line["body"].as_str()?.parse().ok(),
    told: Some(" messages of q written"),
    elsewhere: Some(|_, served| messages(served)),
    // What is written is deleted before it ends.
    throttle: |served| served.queue.script_consumers(throttled_after(5).take(15)),
    is_throttled: |_, served| served.queue.consumer_statistics().calls > 6,
};

const LOAD: Writer = Writer {
    command: "load --table items --dead-letter OUTPUT -",
    ends: ENDS,
    takes: Takes::Files,
    code: 1,
    fill: |_, served| {
        served.table.poison(|item| {
            let id = item["id"]["N"].as_str();
            id.and_then(|id| id.parse().ok()).is_some_and(is_odd)
        });
    },
    input: || items(0..ENTRIES),
    all: odd,
    number: |line| line["id"].as_u64(),
    told: Some(" dead letters in "),
    elsewhere: Some(|_, served| served.ids().into_iter().map(u64::from).collect()),
    throttle: |served| served.table.script(throttled_after(20)),
    is_throttled: |_, served| served.table.calls() > 22,
};

const SEND: Writer = Writer {
    command: "send --queue q --dead-letter OUTPUT -",
    ends: ENDS,
    takes: Takes::Files,
    code: 1,
    fill: |_, served| {
        served.queue.poison(|message| {
            let body = message["MessageBody"].as_str();
            body.and_then(|body| body.parse().ok()).is_some_and(is_odd)
        });
    },
    input: bodies,
    all: odd,
    number: Value::as_u64,
    told: Some(" dead letters in "),
    elsewhere: Some(|_, served| messages(served)),
    throttle: |served| served.queue.script(throttled_after(3)),
    is_throttled: |_, served| served.queue.calls() > 4,
};

const CONDITION: Writer = Writer {
    command: "load --table items --condition attribute_not_exists(id) --failed OUTPUT -",
    ends: ENDS,
    takes: Takes::AllButADash,
    code: 0,
    fill: |folder, served| load(folder, served, (0..ENTRIES).filter(|id| id % 2 == 1)),
    input: || items(0..ENTRIES),
    all: odd,
    number: |line| line["id"].as_u64(),
    told: Some(" with a failed condition"),
    elsewhere: None,
    throttle: |served| served.table.script(throttled_after(40)),
    is_throttled: |_, served| served.table.calls() > 44,
};

/// It waits for nothing, so it is neither interrupted nor refused in the middle.
const PLAN: Writer = Writer {
    command: "plan --from-table items --segments 60 --lines",
    ends: &[End::Whole, End::Closed],
    takes: Takes::Redirected,
    code: 0,
    fill: |_, _| {},
    input: String::new,
    all: || (0..u64::from(ENTRIES)).collect(),
    number: |line| line["begin"].as_u64(),
    told: None,
    elsewhere: None,
    throttle: |_| {},
    is_throttled: |_, _| true,
};

/// It asks no service.
#[cfg(feature = "spool")]
const SPOOL: Writer = Writer {
    command: "spool orders --to OUTPUT",
    ends: &[End::Whole, End::Closed, End::Interrupted],
    takes: Takes::All,
    code: 0,
    fill: |folder, _| crate::spool::copy_spooled(&folder.path("orders")),
    input: String::new,
    all: || (0..crate::spool::COPIED).step_by(2).collect(),
    number: |line| line["id"].as_u64(),
    told: Some(" entries moved"),
    elsewhere: Some(|folder, _| {
        folder.run("spool orders --to rest.jsonl").expect(0, "moved");
        SPOOL.numbers(&folder.read("rest.jsonl"))
    }),
    throttle: |_| {},
    // Its first entries are removed.
    is_throttled: |folder, _| {
        let log = fs::metadata(folder.path("orders/spool.sqlite3-wal"));
        log.is_ok_and(|log| log.len() > 0)
    },
};

fn is_odd(number: u32) -> bool {
    number % 2 == 1
}

fn odd() -> BTreeSet<u64> {
    (1..u64::from(ENTRIES)).step_by(2).collect()
}

fn bodies() -> String {
    (0..ENTRIES).map(|number| number.to_string() + "\n").collect()
}

fn load(folder: &Folder, served: &Served, ids: impl IntoIterator<Item = u32>) {
    folder.write("filled", items(ids));
    let load = format!("load --table items {} filled", served.arguments());
    folder.run(&load).expect(0, "delivered");
}

fn messages(served: &Served) -> BTreeSet<u64> {
    let messages = served.queue.messages().into_iter();
    messages.map(|message| message.body.parse().unwrap()).collect()
}

fn throttled_after(calls: usize) -> impl Iterator<Item = InjectedFault> {
    let answered = std::iter::repeat_n(InjectedFault::None, calls);
    answered.chain(std::iter::repeat_n(InjectedFault::Throttle, 100_000))
}

impl Writer {
    pub(crate) fn arguments(&self, served: &Served, output: &str) -> String {
        let command = self.command.replace("OUTPUT", output);
        if command.starts_with("spool") {
            return command;
        }
        format!("{command} {}", served.arguments())
    }

    pub(crate) fn numbers(&self, lines: &str) -> BTreeSet<u64> {
        let lines = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.filter_map(|line| (self.number)(&line)).collect()
    }

    /// What the output is to this command.
    pub(crate) fn found(&self, output: &Output) -> Found {
        match (self.takes, output.found) {
            (Takes::Files, Found::Pipe(_) | Found::StandardOutput | Found::Nowhere) => Found::Refused,
            // A name of a file in other options.
            (Takes::AllButADash, Found::StandardOutput) if output.name == "-" => Found::Refused,
            (_, found) => found,
        }
    }

    /// How many it says that it has written.
    pub(crate) fn told(&self, run: &Run) -> Option<u64> {
        let (before, _) = run.stderr.split_once(self.told?)?;
        let number = before.split_whitespace().next_back()?;
        number.replace(',', "").parse().ok()
    }

    /// The numbers of the lines that it says that it has read: all, unless it says to which line.
    pub(crate) fn read(run: &Run) -> BTreeSet<u64> {
        let line = run.stderr.split_once("read: - to line ").map(|(_, line)| line);
        let line = line.map(|line| line.split(|other: char| !other.is_ascii_digit()).next().unwrap());
        let nothing = run.stderr.contains("nothing was read");
        let read = line.map_or(if nothing { 0 } else { ENTRIES.into() }, |line| line.parse().unwrap());
        (0..read).collect()
    }

    fn command(&self, output: &Output, end: End, (folder, served): (&Folder, &Served)) -> Command {
        let command = folder.command(&self.arguments(served, output.name));
        if self.takes == Takes::Redirected {
            let closed = if end == End::Closed { "exec >&-;" } else { "" };
            let redirected = match output.name {
                "-" => String::new(),
                name => format!(">> {name}"),
            };
            return within(&format!(r#"{closed} exec "$0" "$@" {redirected}"#), &command);
        }
        if end == End::Closed {
            return with_closed_output(&command);
        }
        command
    }

    /// Lets the service do what this end needs.
    fn prepare(&self, end: End, served: &Served) {
        match end {
            End::Denied => {
                let denied = || std::iter::repeat_n(InjectedFault::error(400, "AccessDeniedException", false), 1_000);
                served.table.script_reads(denied());
                served.table.script(denied());
                served.queue.script_consumers(denied());
                served.queue.script(denied());
            }
            End::Interrupted => (self.throttle)(served),
            End::Whole | End::Closed => {}
        }
    }

    /// Runs it, and returns what another program finds in the end.
    pub(crate) fn run(&self, output: &Output, end: End, place: (&Folder, &Served)) -> (Run, String) {
        let (folder, served) = place;
        self.prepare(end, served);
        let pipe = match output.found {
            Found::Pipe(pipe) => Some(folder.path(pipe)),
            _ => None,
        };
        let reader = pipe.clone().map(|pipe| {
            thread::spawn(move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            })
        });
        let mut command = self.command(output, end, place);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = given(&mut child, &(self.input)());
        let output_of_child = read_all(child.stdout.take().unwrap());
        if end == End::Interrupted {
            let has_ended = |child: &mut Child| child.try_wait().unwrap().is_some();
            wait_until(|| has_ended(&mut child) || (self.is_throttled)(folder, served));
            if !has_ended(&mut child) {
                interrupt(&child);
            }
            // It ends although its input has not.
            if !wait_until(|| has_ended(&mut child)) {
                child.kill().unwrap();
            }
        }
        drop(input);
        let mut run = Run::from(child.wait_with_output().unwrap());
        run.stdout = output_of_child.join().unwrap();
        // A run that has written nothing has not opened the pipe, for which its reader waits.
        let opened = pipe.map(|pipe| fs::OpenOptions::new().read(true).write(true).open(pipe).unwrap());
        drop(opened);
        let from_pipe = reader.map(|reader| reader.join().unwrap());
        let found = match self.found(output) {
            Found::In(name) => fs::read_to_string(folder.path(name)).unwrap_or_default(),
            Found::Pipe(_) => from_pipe.unwrap(),
            Found::StandardOutput => run.stdout.clone(),
            Found::Nowhere | Found::Refused => String::new(),
        };
        (run, found)
    }
}

/// Whether this holds after a while.
fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + LONGEST_WAIT;
    while !holds() {
        if Instant::now() > end {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Gives it this input, and returns what has to be dropped for the end of it.
fn given(child: &mut Child, input: &str) -> ChildStdin {
    let mut pipe = child.stdin.take().unwrap();
    // The program may end before it has read all.
    let _ = pipe.write_all(input.as_bytes());
    pipe
}

fn read_all(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    })
}

/// The same command, of which the standard output is closed.
pub(crate) fn with_closed_output(command: &Command) -> Command {
    within(r#"exec "$0" "$@" >&-"#, command)
}

/// The same command, which this script of the shell begins.
fn within(script: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args([OsStr::new("-c"), OsStr::new(script), command.get_program()]);
    with_the_rest(shell, command)
}

pub(crate) fn with_the_rest(mut begun: Command, command: &Command) -> Command {
    begun
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        begun.env(name, value.unwrap());
    }
    begun
}
