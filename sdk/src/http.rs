//! HTTP for tool servers and rails that a policy grants hosts to.
//!
//! The host sends the request, if the policy allows it, and adds the secrets that the policy adds: a guest sets no
//! `Authorization` of its own, and sees none. A redirect is an answer like any other; who follows it sends a new request,
//! which is checked anew.

use std::fmt;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// An `http` or `https` URL.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// What to send; empty for nothing.
    pub body: Vec<u8>,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no response, in words for whoever asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError(pub String);

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HttpError {}

impl Request {
    /// A request without headers and body.
    #[must_use]
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self { method: method.into(), url: url.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it and waits for the response, of whose body at most `max_body` bytes are taken.
    ///
    /// # Errors
    /// A request that is malformed or that the policy does not allow; a server that does not answer; a body that is longer.
    /// Outside the sandbox, always.
    pub fn send(&self, max_body: usize) -> Result<Response, HttpError> {
        let parts = Parts::of(&self.url)
            .ok_or_else(|| HttpError(format!("\"{}\" is no http or https URL", crate::quote(&self.url))))?;
        sandbox::send(self, &parts, max_body)
    }
}

/// What a URL is made of. The host parses it again, strictly.
#[cfg_attr(not(target_os = "wasi"), allow(dead_code, reason = "only the sandbox sends"))]
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    is_https: bool,
    authority: &'a str,
    path: String,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let rest = rest.split('#').next()?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        (!authority.is_empty()).then_some(Self { is_https, authority, path })
    }
}

#[cfg(not(target_os = "wasi"))]
mod sandbox {
    use super::{HttpError, Parts, Request, Response};

    pub(super) fn send(_: &Request, _: &Parts<'_>, _: usize) -> Result<Response, HttpError> {
        Err(HttpError("there is no network outside the sandbox".to_owned()))
    }
}

#[cfg(target_os = "wasi")]
mod sandbox {
    use wasip2::http::outgoing_handler::handle;
    use wasip2::http::types::{
        ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme,
    };
    use wasip2::io::streams::StreamError;

    use super::{HttpError, Parts, Request, Response};

    /// Bytes of one write, and of one read.
    const CHUNK: usize = 4096;

    pub(super) fn send(request: &Request, parts: &Parts<'_>, max_body: usize) -> Result<Response, HttpError> {
        let outgoing = prepare(request, parts)?;
        let body = if request.body.is_empty() { None } else { Some(outgoing.body().map_err(|()| malformed("body"))?) };
        let response = handle(outgoing, None).map_err(|code| failed(&code))?;
        if let Some(body) = body {
            write(body, &request.body)?;
        }
        response.subscribe().block();
        let response = response.get().and_then(Result::ok).ok_or_else(|| HttpError("no response came".to_owned()))?;
        read(&response.map_err(|code| failed(&code))?, max_body)
    }

    fn prepare(request: &Request, parts: &Parts<'_>) -> Result<OutgoingRequest, HttpError> {
        let headers = Fields::new();
        for (name, value) in &request.headers {
            headers.append(name, value.as_bytes()).map_err(|e| HttpError(format!("the header {name}: {e}")))?;
        }
        if !request.body.is_empty() {
            let length = request.body.len().to_string();
            headers.set("content-length", &[length.into_bytes()]).map_err(|_| malformed("body"))?;
        }
        let outgoing = OutgoingRequest::new(headers);
        let scheme = if parts.is_https { Scheme::Https } else { Scheme::Http };
        outgoing.set_method(&method(&request.method)).map_err(|()| malformed("method"))?;
        outgoing.set_scheme(Some(&scheme)).map_err(|()| malformed("scheme"))?;
        outgoing.set_authority(Some(parts.authority)).map_err(|()| malformed("host"))?;
        outgoing.set_path_with_query(Some(&parts.path)).map_err(|()| malformed("path"))?;
        Ok(outgoing)
    }

    fn method(name: &str) -> Method {
        match name {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            "PATCH" => Method::Patch,
            "OPTIONS" => Method::Options,
            other => Method::Other(other.to_owned()),
        }
    }

    fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), HttpError> {
        let stream = body.write().map_err(|()| malformed("body"))?;
        for chunk in bytes.chunks(CHUNK) {
            // A server that has heard enough answers early, and its answer says why.
            if stream.blocking_write_and_flush(chunk).is_err() {
                return Ok(());
            }
        }
        drop(stream);
        OutgoingBody::finish(body, None).map_err(|code| failed(&code))
    }

    fn read(response: &IncomingResponse, max_body: usize) -> Result<Response, HttpError> {
        let headers = response.headers().entries();
        let body = response.consume().map_err(|()| HttpError("the response has no body".to_owned()))?;
        let stream = body.stream().map_err(|()| HttpError("the response has no body".to_owned()))?;
        let mut bytes = Vec::new();
        loop {
            match stream.blocking_read(CHUNK as u64) {
                Ok(chunk) => bytes.extend_from_slice(&chunk),
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => {
                    let code = wasip2::http::types::http_error_code(&error);
                    let why = || HttpError(format!("the response broke off: {}", error.to_debug_string()));
                    return Err(code.map_or_else(why, |code| failed(&code)));
                }
            }
            if bytes.len() > max_body {
                return Err(HttpError(format!("the response is longer than {max_body} bytes")));
            }
        }
        drop(stream);
        drop(IncomingBody::finish(body));
        Ok(Response { status: response.status(), headers, body: bytes })
    }

    fn malformed(what: &str) -> HttpError {
        HttpError(format!("the request's {what} is malformed"))
    }

    /// In the host's words where it gave any.
    fn failed(code: &ErrorCode) -> HttpError {
        HttpError(match code {
            ErrorCode::InternalError(Some(why)) => why.clone(),
            other => format!("the request failed: {other:?}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let parts = |url| Parts::of(url).map(|p| (p.is_https, p.authority.to_owned(), p.path));
        assert_eq!(parts("https://a.example"), Some((true, "a.example".to_owned(), "/".to_owned())));
        assert_eq!(parts("HTTP://a.example:8080/x?y#z"), Some((false, "a.example:8080".to_owned(), "/x?y".to_owned())));
        assert_eq!(parts("http://a.example?y"), Some((false, "a.example".to_owned(), "/?y".to_owned())));
        for bad in ["ftp://a.example", "a.example", "http://", "http:///x", ""] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }

    #[test]
    fn nothing_is_sent_outside_the_sandbox() {
        let error = Request::new("GET", "https://a.example").send(1).unwrap_err();
        assert_eq!(error.to_string(), "there is no network outside the sandbox");
    }
}
