//! A payment rail: it moves money at a provider, over the hosts that a policy grants. The same reference twice is the same
//! payment. `Definite` says that nothing happened; where nobody knows, it is `Ambiguous`, and the host asks again.

use chio_sdk::http::Request;
use chio_sdk::{Payment, Rail, RailError};
use serde::Deserialize;
use serde_json::{Value, json};

/// What stands under `config` in the policy.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The provider's address, such as `https://api.bank.example`.
    url: String,
    /// The one currency that it takes.
    currency: String,
}

struct Bank;

impl Rail for Bank {
    fn authorize(payment: Payment) -> Result<String, RailError> {
        ask("authorize", &payment, &json!({ "payment": told(&payment) }))
    }

    fn capture(authorization: String, payment: Payment) -> Result<String, RailError> {
        ask("capture", &payment, &json!({ "authorization": authorization, "payment": told(&payment) }))
    }

    fn release(authorization: String, reference: String) -> Result<(), RailError> {
        send("release", &config()?, &json!({ "authorization": authorization, "reference": reference })).map(drop)
    }

    fn refund(capture: String, payment: Payment) -> Result<String, RailError> {
        ask("refund", &payment, &json!({ "capture": capture, "payment": told(&payment) }))
    }
}

fn config() -> Result<Config, RailError> {
    match chio_sdk::config::<Config>() {
        Ok(config) if config.url.is_empty() => Err(RailError::Definite("the policy configures no provider".to_owned())),
        Ok(config) => Ok(config),
        Err(why) => Err(RailError::Definite(why)),
    }
}

fn ask(what: &str, payment: &Payment, body: &Value) -> Result<String, RailError> {
    let config = config()?;
    if payment.amount.currency != config.currency {
        return Err(RailError::Definite(format!("{} is not taken here", payment.amount.currency)));
    }
    send(what, &config, body)
}

fn told(payment: &Payment) -> Value {
    let amount = &payment.amount;
    json!({ "reference": payment.reference, "account": payment.account, "units": amount.units, "currency": amount.currency })
}

/// The provider's id for what was asked is the whole of its answer.
fn send(what: &str, config: &Config, body: &Value) -> Result<String, RailError> {
    let request = Request::new("POST", format!("{}/{what}", config.url)).with_body(body.to_string());
    let response = request.send(1 << 16).map_err(|error| RailError::Ambiguous(error.to_string()))?;
    let text = String::from_utf8_lossy(&response.body).into_owned();
    match response.status {
        200..300 => Ok(text),
        400..500 => Err(RailError::Definite(text)),
        _ => Err(RailError::Ambiguous(text)),
    }
}

chio_sdk::rail!(Bank);
