//! An HTTP server for tests, on an address of this machine.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::outbound::{NetworkGrant, Scheme, Stream};

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

/// Whom the host's client trusts in tests, beside the web's own.
static AUTHORITY: LazyLock<CertifiedIssuer<'static, KeyPair>> = LazyLock::new(issuer);

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Its certificate.
pub(crate) fn authority() -> CertificateDer<'static> {
    AUTHORITY.der().clone()
}

/// Who vouches for a server.
#[derive(Clone, Copy)]
pub(crate) enum Vouched {
    /// Nobody: it speaks no TLS.
    Plain,
    /// An authority that the client trusts.
    Trusted,
    /// One that it does not know.
    Untrusted,
}

/// TLS for a server of these names.
fn acceptor(vouched: Vouched, names: &[&str]) -> Option<TlsAcceptor> {
    let other = issuer();
    let issuer = match vouched {
        Vouched::Plain => return None,
        Vouched::Trusted => &*AUTHORITY,
        Vouched::Untrusted => &other,
    };
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    Some(TlsAcceptor::from(Arc::new(config)))
}

/// A response with a body.
pub(crate) fn ok(body: &str) -> Reply {
    Reply::Whole(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

impl HttpServer {
    /// Answers each request, which is told as text, with what `answer` says.
    pub(crate) async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1", Vouched::Plain, &[], answer).await
    }

    /// The same at another address, perhaps over TLS, under these names.
    pub(crate) async fn start_at(
        ip: &str,
        vouched: Vouched,
        names: &[&str],
        answer: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let tls = acceptor(vouched, names);
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::new(Semaphore::new(0));
        let mut serving = JoinSet::new();
        let (log, over, answer) = (seen.clone(), closed.clone(), Arc::new(answer));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (log, over, answer, tls) = (log.clone(), over.clone(), answer.clone(), tls.clone());
                connections.spawn(async move {
                    let mut stream: Box<dyn Stream> = match tls {
                        None => Box::new(stream),
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return over.add_permits(1),
                        },
                    };
                    if let Some(request) = read(&mut *stream).await {
                        let reply = answer(&request);
                        log.lock().unwrap().push(request);
                        write(&mut *stream, reply).await;
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
async fn read(stream: &mut dyn Stream) -> Option<String> {
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

async fn write(stream: &mut dyn Stream, reply: Reply) {
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
