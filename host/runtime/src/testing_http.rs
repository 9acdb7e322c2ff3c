//! An HTTP server for tests, on an address of this machine.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::outbound::{NetworkGrant, Scheme};

const ENOUGH: Duration = Duration::from_mins(1);

/// What a server does once it has read a request.
pub(crate) enum Reply {
    /// Writes this and closes.
    Whole(String),
    /// Writes the head, and each of these as a chunk of a chunked body.
    Chunks(&'static str, Vec<String>),
    /// Writes the head of a long response, and then a byte of its body now and then, for as long as somebody reads.
    Drip,
    /// Says nothing.
    Silence,
}

/// A server. It ends with this value.
pub(crate) struct HttpServer {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    closed: Arc<Semaphore>,
    _serving: JoinSet<()>,
}

/// A response with a body.
pub(crate) fn ok(body: &str) -> Reply {
    Reply::Whole(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

impl HttpServer {
    /// Answers each request, which is told as text, with what `answer` says.
    pub(crate) async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1", answer).await
    }

    /// The same at another address.
    pub(crate) async fn start_at(ip: &str, answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::new(Semaphore::new(0));
        let mut serving = JoinSet::new();
        let (log, over, answer) = (seen.clone(), closed.clone(), Arc::new(answer));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (log, over, answer) = (log.clone(), over.clone(), answer.clone());
                connections.spawn(async move {
                    if let Some(request) = read(&mut stream).await {
                        let reply = answer(&request);
                        log.lock().unwrap().push(request);
                        write(&mut stream, reply).await;
                    }
                    over.add_permits(1);
                });
            }
        });
        Self { address, seen, closed, _serving: serving }
    }

    /// A URL of this server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The grant of this server, by its address.
    pub(crate) fn grant(&self) -> NetworkGrant {
        let host = self.address.ip().to_string();
        NetworkGrant { scheme: Scheme::Http, host, port: self.address.port(), private: false }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until so many connections have ended, from either side.
    pub(crate) async fn closed(&self, number: u32) {
        drop(timeout(ENOUGH, self.closed.acquire_many(number)).await.unwrap().unwrap());
    }
}

/// Head and body of a request.
async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            // A body of a megabyte or more is not waited for.
            if body.len() >= length.unwrap_or(0).min(1 << 20) {
                return Some(text);
            }
        }
        let mut more = vec![0; 65536];
        match stream.read(&mut more).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&more[..n]),
        }
    }
}

async fn write(stream: &mut TcpStream, reply: Reply) {
    match reply {
        Reply::Whole(text) => {
            stream.write_all(text.as_bytes()).await.ok();
        }
        Reply::Chunks(head, chunks) => {
            stream.write_all(format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n").as_bytes()).await.ok();
            for chunk in chunks {
                stream.write_all(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes()).await.ok();
                stream.flush().await.ok();
            }
            stream.write_all(b"0\r\n\r\n").await.ok();
        }
        Reply::Drip => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await.ok();
            let mut now_and_then = interval(Duration::from_millis(5));
            while stream.write_all(b"x").await.is_ok() {
                now_and_then.tick().await;
            }
        }
        Reply::Silence => {
            // Until the other side is gone.
            let mut more = vec![0; 65536];
            while stream.read(&mut more).await.is_ok_and(|n| n > 0) {}
        }
    }
}
