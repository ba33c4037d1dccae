//! The command line.

use clap::{Parser, ValueEnum};

use crate::parts::Part;

/// A run costs no more than this, whatever is asked for, in dollars.
pub(crate) const LARGEST_CAP: f64 = 5.0;
const DEFAULT_CAP: &str = "5";

/// Runs loads against AWS, each against the simulator as well, and writes what differs.
///
/// It makes tables and queues of its own, whose names begin with aws-batch-delivery-run-, and deletes them whatever happens: after Ctrl-C,
/// SIGTERM, SIGHUP, a panic or an error. After SIGKILL or a loss of power, --clean-up deletes them.
///
/// Credentials are those of the environment: a profile, keys, a role and so on.
#[derive(Debug, Parser)]
#[command(name = ".ci/aws", after_long_help = concat!("The permissions that it needs (benches/aws/policy.json):\n\n", include_str!("../policy.json")))]
pub(crate) struct Arguments {
    /// The region of AWS, such as us-east-1
    #[arg(long, required_unless_present = "endpoint_url", conflicts_with = "endpoint_url")]
    pub(crate) region: Option<String>,
    /// An emulator instead of AWS
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) endpoint_url: Option<String>,
    /// Delete what earlier runs have left, and run nothing
    #[arg(long)]
    pub(crate) clean_up: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// The most that the run may cost, in dollars
    #[arg(long, value_name = "DOLLARS", default_value = DEFAULT_CAP, value_parser = cap)]
    pub(crate) cap: f64,
    /// These parts alone, separated by commas
    #[arg(long, value_name = "PARTS", value_enum, value_delimiter = ',', default_values_t = Part::value_variants().to_vec(), hide_default_value = true)]
    pub(crate) parts: Vec<Part>,
    /// This share of the entries of each part, up to 1
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = share)]
    pub(crate) scale: f64,
    /// The page that is written [default: docs/aws-run.md, or target/aws-run.md with --endpoint-url]
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<std::path::PathBuf>,
}

fn url(text: &str) -> Result<String, String> {
    let is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| text.len() > scheme.len() && text.starts_with(scheme));
    is_url
        .then(|| text.to_owned())
        .ok_or_else(|| "a URL begins with http:// or https://".to_owned())
}

fn cap(text: &str) -> Result<f64, String> {
    let dollars: f64 = text.parse().map_err(|_| "a number of dollars")?;
    if (0.0..=LARGEST_CAP).contains(&dollars) {
        Ok(dollars)
    } else {
        Err(format!("from 0 to {LARGEST_CAP}"))
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "a number")?;
    if share > 0.0 && share <= 1.0 {
        Ok(share)
    } else {
        Err("more than 0, and 1 at most".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn all_parts_run_unless_some_are_named() {
        assert_eq!(parse("aws --region us-east-1").unwrap().parts, Part::value_variants());
        assert_eq!(
            parse("aws --region us-east-1 --parts cold,hot-key").unwrap().parts,
            [Part::Cold, Part::HotKey]
        );
    }

    #[test]
    fn the_cap_is_five_dollars_at_most() {
        assert!((parse("aws --region us-east-1").unwrap().cap - 5.0).abs() < 1e-9);
        for line in [
            "--cap 5.01",
            "--cap -1",
            "--cap nan",
            "--cap inf",
            "--scale 0",
            "--scale 2",
        ] {
            assert!(parse(&format!("aws --region us-east-1 {line}")).is_err(), "{line}");
        }
    }

    #[test]
    fn a_run_is_somewhere() {
        assert!(parse("aws").is_err());
        assert!(parse("aws --endpoint-url ftp://host").is_err());
        assert!(parse("aws --endpoint-url http://127.0.0.1:4500 --region us-east-1").is_err());
    }
}
