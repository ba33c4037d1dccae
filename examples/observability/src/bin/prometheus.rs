//! Serves live metrics at `/metrics`, in the text format of Prometheus, while a simulated table is loaded.
//!
//! ```text
//! cargo run --package observability --bin prometheus
//! curl http://127.0.0.1:3001/metrics
//! ```

use anyhow::Result;
use observability::{Scrapes, load};
use tokio::net::TcpListener;

/// Orders of the load, which takes about a minute.
const ORDERS: u64 = 3_000;

#[tokio::main]
async fn main() -> Result<()> {
    let scrapes = Scrapes::start()?;
    let listener = TcpListener::bind("127.0.0.1:3001").await?;
    println!("figures at http://{}/metrics, until Ctrl-C", listener.local_addr()?);
    let serving = tokio::spawn(scrapes.serve(listener));
    println!("{}", load(ORDERS).await?);
    tokio::signal::ctrl_c().await?;
    serving.abort();
    Ok(())
}
