//! One request over one connection, to an address that was checked.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::io::TokioIo;

use super::body::Sent;
use super::grants::{Scheme, Target};

/// The longest head of a response, in bytes, and the most headers in it.
const MAX_HEAD: usize = 64 << 10;
const MAX_HEADERS: usize = 128;

/// How long a request may wait for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For a connection, TLS included.
    pub(super) connect: Duration,
    /// For the head of the response, once there is a connection.
    pub(super) first_byte: Duration,
    /// For more of its body.
    pub(super) silence: Duration,
}

/// A stream to a server.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// What goes on until the response is over; `None` where it is already.
pub(super) type Driver = Option<Connection<TokioIo<Box<dyn Stream>>, Sent>>;

/// Mozilla's list of whom to trust, whatever the machine's own says: a policy means the same everywhere.
static TLS: LazyLock<Option<Arc<ClientConfig>>> = LazyLock::new(|| {
    #[cfg_attr(not(test), allow(unused_mut, reason = "a test adds its own"))]
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    #[cfg(test)]
    roots.add(crate::testing_http::authority()).ok()?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().ok()?;
    Some(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
});

/// Sends the request to the first of the addresses that takes a connection. Dropping the future ends all of it.
pub(super) async fn send(
    mut request: Request<Sent>,
    target: &Target,
    addresses: &[SocketAddr],
    patience: Patience,
) -> Result<(Response<Incoming>, Driver), Error> {
    let stream =
        timeout(patience.connect, connect(target, addresses)).await.map_err(|_| Error::ConnectionTimeout)??;
    // A proxy is told scheme and host; a server is not.
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>().map_err(|_| Error::HttpRequestUriInvalid)?;
    let mut builder = Builder::new();
    builder.max_buf_size(MAX_HEAD).max_headers(MAX_HEADERS);
    let (mut sender, mut connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| error_of(&error))?;
    let exchange = async {
        let mut response = std::pin::pin!(sender.send_request(request));
        tokio::select! {
            biased;
            answered = &mut response => answered.map(|response| (response, true)),
            // However it ended: what was received before is still to be told, and if that is nothing, this says why. Some
            // servers close without a word of TLS right after their last byte.
            _ = &mut connection => response.await.map(|response| (response, false)),
        }
    };
    let answered = timeout(patience.first_byte, exchange).await.map_err(|_| Error::ConnectionReadTimeout)?;
    let (response, goes_on) = answered.map_err(|error| error_of(&error))?;
    Ok((response, goes_on.then_some(connection)))
}

async fn connect(target: &Target, addresses: &[SocketAddr]) -> Result<Box<dyn Stream>, Error> {
    let mut last = Error::DestinationUnavailable;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return secure(target, stream).await,
            Err(error) => last = failed(&error),
        }
    }
    Err(last)
}

async fn secure(target: &Target, stream: TcpStream) -> Result<Box<dyn Stream>, Error> {
    // Small requests wait for nothing.
    stream.set_nodelay(true).ok();
    if target.scheme == Scheme::Http {
        return Ok(Box::new(stream));
    }
    let config = TLS.clone().ok_or(Error::ConfigurationError)?;
    let name = ServerName::try_from(target.host.clone()).map_err(|_| Error::HttpRequestUriInvalid)?;
    match TlsConnector::from(config).connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        // The reason is what tells a wrong certificate from a server that speaks no TLS.
        Err(error) => Err(Error::InternalError(Some(format!(
            "no TLS with {target}: {}",
            chio_host_kernel::canonical::printable(&error.to_string(), 256)
        )))),
    }
}

fn failed(error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
        std::io::ErrorKind::TimedOut => Error::ConnectionTimeout,
        _ => Error::DestinationUnavailable,
    }
}

/// What a guest is told. Never the client's own words, which may hold what the server said.
pub(super) fn error_of(error: &hyper::Error) -> Error {
    if error.is_timeout() {
        Error::HttpResponseTimeout
    } else if error.is_parse_too_large() {
        Error::HttpResponseHeaderSectionSize(u32::try_from(MAX_HEAD).ok())
    } else if error.is_incomplete_message() {
        Error::HttpResponseIncomplete
    } else if error.is_closed() || error.is_canceled() {
        Error::ConnectionTerminated
    } else {
        Error::HttpProtocolError
    }
}
