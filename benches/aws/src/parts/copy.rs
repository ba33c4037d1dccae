//! `batch-deliver copy`, the program, from one table to another.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::tables::{TIME_LIMIT, count, deliver, options, spread};
use crate::belongings::{Billing, Key};
use crate::figures::{Figures, Stored};
use crate::place::{Place, TEST_KEY};

pub(crate) async fn run(place: &Place, entries: u64) -> Result<Figures> {
    let from = place.belongings.table("copy-from", Key::Id, Billing::OnDemand).await?;
    let to = place.belongings.table("copy-to", Key::Id, Billing::OnDemand).await?;
    let report = deliver(&place.dynamo, &from, spread(entries), options()).await?;
    ensure!(
        report.delivered == entries,
        "the table to copy has {} of {entries} items",
        report.delivered
    );

    let mut program = Command::new(program()?);
    program.args([
        "copy",
        "--json",
        "--from",
        &from,
        "--to",
        &to,
        "--region",
        &place.region,
    ]);
    if let Some(endpoint) = &place.endpoint {
        program.args(["--endpoint-url", endpoint]);
        program.envs(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| (name, TEST_KEY)));
        program.env_remove("AWS_PROFILE").env_remove("AWS_SESSION_TOKEN");
    }
    // It ends with this run, however that ends.
    program
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let ended = program.spawn().context("batch-deliver")?.wait_with_output();
    let ended = timeout(TIME_LIMIT, ended)
        .await
        .context("batch-deliver copy takes too long")??;
    let report = report_of(&String::from_utf8_lossy(&ended.stdout));
    let report =
        report.with_context(|| format!("batch-deliver copy: {}", String::from_utf8_lossy(&ended.stderr).trim()))?;
    place.tally.take();
    let stored = count(&place.belongings.dynamo, &to).await?;
    figures(entries, &report, Stored::Exactly(stored))
}

/// It is next to this program, unless a variable names it.
fn program() -> Result<PathBuf> {
    if let Some(program) = env::var_os("BATCH_DELIVER") {
        return Ok(program.into());
    }
    let this = env::current_exe()?;
    let program = this.with_file_name(format!("batch-deliver{}", env::consts::EXE_SUFFIX));
    ensure!(
        program.exists(),
        "{} is not built: cargo build --package batch-deliver",
        program.display()
    );
    Ok(program)
}

/// The report is the last line of JSON.
fn report_of(lines: &str) -> Result<Value> {
    let last = lines.lines().last().context("there is no report")?;
    let event: Value = serde_json::from_str(last)?;
    ensure!(event["event"] == "report", "the last line is no report: {last}");
    Ok(event["report"].clone())
}

fn figures(entries: u64, report: &Value, stored: Stored) -> Result<Figures> {
    let number = |name: &str| {
        report[name]
            .as_u64()
            .with_context(|| format!("the report has no {name}"))
    };
    let mut codes = BTreeMap::new();
    for throttled in report["throttled_by"].as_array().into_iter().flatten() {
        let reason = throttled["reason"].as_str().unwrap_or("no reason");
        *codes.entry(format!("throttled ({reason})")).or_default() += throttled["calls"].as_u64().unwrap_or_default();
    }
    let elapsed = report["elapsed_seconds"].as_f64().context("the report has no time")?;
    Ok(Figures {
        entries,
        stored,
        elapsed: Duration::try_from_secs_f64(elapsed)?,
        calls: number("calls")?,
        sent: number("delivered")? + number("undelivered")? + number("resubmitted")?,
        rejected: number("throttled")?,
        undelivered: number("undelivered")?,
        // The program shows neither.
        units: None,
        median: None,
        codes,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_report_of_the_program_has_the_figures() {
        let report = json!({
            "delivered": 100, "undelivered": 0, "superseded": 0, "condition_failed": 0, "calls": 6, "resubmitted": 3, "throttled": 3,
            "throttled_by": [{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": "arn", "calls": 2}],
            "elapsed_seconds": 1.5, "finished": true,
        });
        let lines = format!(
            "{{\"event\":\"progress\"}}\n{}\n",
            json!({"event": "report", "report": report})
        );
        let figures = figures(100, &report_of(&lines).unwrap(), Stored::Exactly(100)).unwrap();
        assert_eq!((figures.sent, figures.rejected, figures.calls), (103, 3, 6));
        assert_eq!(figures.codes["throttled (TableWriteKeyRangeThroughputExceeded)"], 2);
    }

    #[test]
    fn a_program_that_failed_has_no_report() {
        assert!(report_of("").is_err());
        assert!(report_of("{\"event\":\"progress\"}").is_err());
    }
}
