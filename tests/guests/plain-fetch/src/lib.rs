//! A plain function that sends a request: a guest of the host's tests, which knows nothing of the host.

#[allow(missing_docs, unreachable_pub, unsafe_code, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package test:fetching@0.1.0;
            world fetching { export fetch: func(url: string) -> result<string, string>; }
        ",
    });
}

/// What the component is.
pub struct Fetching;

impl bindings::Guest for Fetching {
    fn fetch(url: String) -> Result<String, String> {
        sandbox::get(&url)
    }
}

#[cfg(not(target_os = "wasi"))]
#[allow(dead_code, reason = "only a component is called")]
mod sandbox {
    pub(super) fn get(_: &str) -> Result<String, String> {
        Err("there is no network outside the sandbox".to_owned())
    }
}

#[cfg(target_os = "wasi")]
mod sandbox {
    use wasip2::http::outgoing_handler::handle;
    use wasip2::http::types::{Fields, OutgoingRequest, Scheme};
    use wasip2::io::streams::StreamError;

    pub(super) fn get(url: &str) -> Result<String, String> {
        let (scheme, rest) = url.split_once("://").ok_or("no URL")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
        let request = OutgoingRequest::new(Fields::new());
        request.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
        request.set_authority(Some(authority)).map_err(|()| "authority")?;
        request.set_path_with_query(Some(path)).map_err(|()| "path")?;
        let response = handle(request, None).map_err(|code| format!("{code:?}"))?;
        response.subscribe().block();
        let response = response.get().ok_or("nothing")?.map_err(|()| "gone")?.map_err(|code| format!("{code:?}"))?;
        let body = response.consume().map_err(|()| "no body")?;
        let stream = body.stream().map_err(|()| "no stream")?;
        let mut bytes = Vec::new();
        loop {
            match stream.blocking_read(1 << 16) {
                Ok(more) => bytes.extend(more),
                Err(StreamError::Closed) => break,
                Err(error) => return Err(format!("{error:?}")),
            }
        }
        String::from_utf8(bytes).map_err(|e| e.to_string())
    }
}

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "generated")]
mod exports {
    use super::Fetching;

    super::bindings::export!(Fetching with_types_in super::bindings);
}
