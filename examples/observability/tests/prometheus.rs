//! The metrics after a load are equal to its report.

use anyhow::Result;
use observability::{Scrapes, load};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[tokio::test(start_paused = true)]
async fn the_figures_of_a_scrape_are_those_of_the_report() -> Result<()> {
    let scrapes = Scrapes::start()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(scrapes.serve(listener));
    let report = load(500).await?;

    let mut connection = TcpStream::connect(address).await?;
    let request = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    connection.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    connection.read_to_string(&mut text).await?;

    let by_index = report
        .throttled_by
        .iter()
        .find(|calls| calls.reason.resource.as_deref() == Some("table/orders/index/by_customer"))
        .unwrap_or_else(|| panic!("{report:?}"));
    let index = [
        "reason=\"IndexWriteProvisionedThroughputExceeded\"",
        "resource=\"table/orders/index/by_customer\"",
    ];
    assert_eq!(value(&text, "calls_throttled_total", &index), by_index.calls);
    for (name, labels, reported) in [
        ("entries_delivered_total", &[][..], 500),
        ("entries_throttled_total", &[], report.throttled),
        ("entries_resubmitted_total", &[], report.resubmitted),
        ("entries_in_flight", &[], 0),
        ("entry_duration_seconds_count", &[], 500),
        ("call_duration_seconds_count", &[], report.calls),
    ] {
        assert!(
            text.contains(&format!("aws_batch_delivery_{name}{{")),
            "{name} is not in {text}"
        );
        assert_eq!(value(&text, name, labels), reported, "{name}");
    }
    assert!(report.throttled > 0);
    assert!(text.contains("smithy_client_call_duration_seconds_count{"), "{text}");
    Ok(())
}

/// The sum of the series with this name and these labels. All series must have the label of the table.
fn value(text: &str, name: &str, labels: &[&str]) -> u64 {
    let of_name = text
        .lines()
        .filter(|line| line.starts_with(&format!("aws_batch_delivery_{name}{{")));
    let chosen = of_name.filter(|line| labels.iter().all(|label| line.contains(label)));
    let values = chosen.map(|line| {
        assert!(line.contains("destination=\"dynamodb/orders\""), "{line}");
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    });
    values.sum()
}
