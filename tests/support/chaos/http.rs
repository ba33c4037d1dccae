//! HTTP/1.1 messages, as far as a proxy of the SDK's requests needs them.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The lines of a message before its body, including the empty one.
#[derive(Debug)]
pub(crate) struct Head(String);

impl Head {
    /// Reads the next one; `None` when the other side has closed the connection.
    pub(crate) async fn read(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Self>> {
        let mut lines = String::new();
        loop {
            let begins = lines.len();
            if reader.read_line(&mut lines).await? == 0 {
                return Ok(None);
            }
            if &lines[begins..] == "\r\n" {
                return Ok(Some(Self(lines)));
            }
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| {
            let (other, value) = line.split_once(':')?;
            other.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The same head with this value of a header, which is added if it is missing.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let is_other = |line: &&str| {
            let before = line.split_once(':').map(|(before, _)| before);
            !line.is_empty() && !before.is_some_and(|before| before.eq_ignore_ascii_case(name))
        };
        let lines: String = self
            .0
            .lines()
            .filter(is_other)
            .flat_map(|line| [line, "\r\n"])
            .collect();
        Self(format!("{lines}{name}: {value}\r\n\r\n"))
    }
}

#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// Reads the body after a head.
    pub(crate) async fn after(head: Head, reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Self> {
        let length = head.header("content-length").unwrap_or("0");
        let mut body = vec![0; length.parse().map_err(io::Error::other)?];
        reader.read_exact(&mut body).await?;
        Ok(Self { head, body })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.head.0.as_bytes(), &self.body].concat()
    }

    pub(crate) async fn write(&self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        writer.write_all(&self.bytes()).await?;
        writer.flush().await
    }
}

/// An answer with this body.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Message {
    let length = body.len();
    Message {
        head: Head(format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n"
        )),
        body: body.into(),
    }
}
