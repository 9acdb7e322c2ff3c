//! A payment rail over plain HTTP: what its `config.url` answers is the id. A guest of the host's tests.

use chio_sdk::http::Request;
use chio_sdk::{Payment, Rail, RailError};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Default, Deserialize)]
struct Config {
    url: String,
}

struct TestRail;

impl Rail for TestRail {
    fn authorize(payment: Payment) -> Result<String, RailError> {
        ask("authorize", &told(&payment))
    }

    fn capture(authorization: String, payment: Payment) -> Result<String, RailError> {
        ask("capture", &json!({ "authorization": authorization, "payment": told(&payment) }))
    }

    fn release(authorization: String, reference: String) -> Result<(), RailError> {
        ask("release", &json!({ "authorization": authorization, "reference": reference })).map(drop)
    }

    fn refund(capture: String, payment: Payment) -> Result<String, RailError> {
        ask("refund", &json!({ "capture": capture, "payment": told(&payment) }))
    }
}

fn told(payment: &Payment) -> Value {
    let amount = &payment.amount;
    json!({ "reference": payment.reference, "account": payment.account, "units": amount.units, "currency": amount.currency })
}

fn ask(what: &str, body: &Value) -> Result<String, RailError> {
    let config: Config = chio_sdk::config().map_err(RailError::Definite)?;
    let request = Request::new("POST", format!("{}/{what}", config.url)).with_body(body.to_string());
    let response = request.send(1 << 16).map_err(|error| RailError::Ambiguous(error.to_string()))?;
    let text = String::from_utf8_lossy(&response.body).into_owned();
    match response.status {
        200..300 => Ok(text),
        400..500 => Err(RailError::Definite(text)),
        _ => Err(RailError::Ambiguous(text)),
    }
}

chio_sdk::rail!(TestRail);
