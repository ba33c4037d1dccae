//! One call through the proxy: its answer, and what happens to the connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::answers::{NOISE, dated, expired, garbage, internal_error, is_signed_in_time, unavailable};
use super::fault::{CallFault, Outage};
use super::http::{Head, Message};
use super::proxy::Proxy;

/// The header with which the client numbers its attempts.
pub(crate) const ATTEMPT: &str = "x-chaos-attempt";

/// The bytes of a piece of a slow answer.
const PIECE: usize = 40;

/// What happens to a connection after a call.
pub(crate) enum After {
    Keep,
    Close,
    Reset,
}

/// Serves the calls of a connection until it ends.
pub(crate) async fn serve(client: TcpStream, proxy: &Proxy) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    loop {
        let Some(head) = Head::read(&mut client).await? else {
            return Ok(());
        };
        match call(&mut client, proxy, head).await? {
            After::Keep => {}
            After::Close => return Ok(()),
            After::Reset => return client.get_ref().set_zero_linger(),
        }
    }
}

async fn call(client: &mut BufReader<TcpStream>, proxy: &Proxy, head: Head) -> io::Result<After> {
    let number = proxy.arrive();
    let fault = fault(proxy, number);
    if fault == Some(CallFault::ResetWithinRequest) {
        return Ok(After::Reset);
    }
    let request = Message::after(head, client).await?;
    let attempt = request.head.header(ATTEMPT).and_then(|attempt| attempt.parse().ok());
    if !is_signed_in_time(&request.head, proxy.conditions.time()) {
        proxy.told(attempt);
        write(client, proxy, expired()).await?;
        return Ok(After::Keep);
    }
    let applied = match fault {
        None | Some(CallFault::ResetWithinRequest | CallFault::HalfAnswer | CallFault::SlowAnswer(_)) => true,
        Some(
            CallFault::Reset { applied }
            | CallFault::Hang { applied }
            | CallFault::Garbage { applied }
            | CallFault::Noise { applied }
            | CallFault::Error { applied }
            | CallFault::Unavailable { applied },
        ) => applied,
    };
    let answer = if applied {
        Some(proxy.forward(request, attempt).await)
    } else {
        None
    };
    sleep(proxy.latency(number)).await;
    let Some(fault) = fault else {
        proxy.told(attempt);
        write(client, proxy, answer.expect("it was forwarded")).await?;
        return Ok(After::Keep);
    };
    match fault {
        CallFault::Reset { .. } | CallFault::ResetWithinRequest => return Ok(After::Reset),
        CallFault::HalfAnswer => {
            let bytes = dated(answer.expect("it was forwarded"), proxy.conditions.time()).bytes();
            client.write_all(&bytes[..bytes.len() / 2]).await?;
            client.flush().await?;
            return Ok(if number.is_multiple_of(2) {
                After::Close
            } else {
                After::Reset
            });
        }
        CallFault::SlowAnswer(time) => {
            proxy.told(attempt);
            slowly(client, proxy, answer.expect("it was forwarded"), time).await?;
        }
        CallFault::Hang { .. } => {
            // Until the client has given up.
            while client.read(&mut [0; 64]).await? > 0 {}
            return Ok(After::Close);
        }
        CallFault::Garbage { .. } => write(client, proxy, garbage()).await?,
        CallFault::Noise { .. } => {
            client.write_all(NOISE).await?;
            return Ok(After::Close);
        }
        CallFault::Error { .. } => write(client, proxy, internal_error()).await?,
        CallFault::Unavailable { .. } => write(client, proxy, unavailable()).await?,
    }
    Ok(After::Keep)
}

/// The fault of a call. An outage takes precedence over the fault of a single call.
fn fault(proxy: &Proxy, number: u64) -> Option<CallFault> {
    let applied = false;
    if proxy.conditions.has(Outage::Hanging) {
        Some(CallFault::Hang { applied })
    } else if proxy.conditions.has(Outage::Resets) {
        Some(CallFault::Reset { applied })
    } else if proxy.conditions.has(Outage::Errors) {
        Some(CallFault::Error { applied })
    } else {
        proxy.faults.of_call(number)
    }
}

async fn write(client: &mut BufReader<TcpStream>, proxy: &Proxy, answer: Message) -> io::Result<()> {
    dated(answer, proxy.conditions.time()).write(client).await
}

async fn slowly(client: &mut BufReader<TcpStream>, proxy: &Proxy, answer: Message, time: Duration) -> io::Result<()> {
    let bytes = dated(answer, proxy.conditions.time()).bytes();
    let pieces = bytes.chunks(PIECE);
    let pause = time / u32::try_from(pieces.len()).unwrap_or(u32::MAX);
    for piece in pieces {
        client.write_all(piece).await?;
        client.flush().await?;
        sleep(pause).await;
    }
    Ok(())
}
