//! Rules that are replaced while the host serves: on SIGHUP, and when a file that decides them has changed.
//!
//! What is there by then is loaded and checked whole, and only then put in force. Whatever is wrong with it is said, and the
//! rules from before stay. A call that is under way ends under those that it began with.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::error::CliError;
use crate::host::Host;
use crate::mcp::{Catalog, Offer, ServeError};
use crate::print;
use crate::rules::Rules;
use crate::watched::Files;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What a client is offered under these rules.
pub(crate) fn offer(rules: &Rules) -> Result<Offer, CliError> {
    Offer::new(rules.kernel.clone(), rules.agent.clone()).map_err(|e| CliError::Mcp(e.to_string()))
}

/// Keeps the rules in force up to date with the policy's files, for as long as it is polled.
pub(crate) async fn keep_up(
    host: &Host,
    policy: &Path,
    offering: &watch::Sender<Arc<Offer>>,
    mut asked: Asked,
) -> Infallible {
    let mut seen = host.files().clone();
    loop {
        tokio::select! {
            () = changed(&seen) => {}
            () = asked.again() => {}
        }
        let (done, files) = replace(host, policy, offering).await;
        seen = files;
        match done {
            Ok(rules) => {
                print::aside(&format!(
                    "the policy was loaded anew, and {} is in force\n",
                    print::short(&rules.policy_hash)
                ));
            }
            Err(error) => {
                print::aside(&format!(
                    "the policy was not loaded anew, and the one from before stays in force:\n{error}\n"
                ));
            }
        }
    }
}

/// Loads what the files say now and puts it in force, or leaves everything as it is. Answers as well which files those are.
async fn replace(
    host: &Host,
    policy: &Path,
    offering: &watch::Sender<Arc<Offer>>,
) -> (Result<Arc<Rules>, CliError>, Files) {
    let (loaded, files) = host.load_anew(policy).await;
    let done = async {
        let loaded = loaded?;
        // Before anything is in force, so that nothing is left to fail after it.
        let catalog = Catalog::new(&loaded.plugins, &*loaded.agent).map_err(ServeError::Catalog);
        let catalog = catalog.map_err(|e| CliError::Mcp(e.to_string()))?;
        let rules = host.put_in_force(loaded).await?;
        offering.send_replace(Arc::new(Offer::of(catalog, rules.kernel.clone(), rules.agent.clone())));
        Ok(rules)
    };
    (done.await, files)
}

/// Waits until one of the files has changed, and for as long as they go on changing.
async fn changed(seen: &Files) {
    let mut now_and_then = tokio::time::interval(LOOK);
    let mut before = None;
    loop {
        now_and_then.tick().await;
        let now = seen.now();
        if now != *seen && before.as_ref() == Some(&now) {
            return;
        }
        before = Some(now);
    }
}

/// SIGHUP, where there is one. From when it is made on, the signal ends the process no more.
pub(crate) struct Asked {
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Asked {
    pub(crate) fn new() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let hangup = signal(SignalKind::hangup());
            Self { hangup: hangup.inspect_err(|error| tracing::warn!(%error, "SIGHUP is not listened to")).ok() }
        }
        #[cfg(not(unix))]
        Self {}
    }

    async fn again(&mut self) {
        #[cfg(unix)]
        if let Some(hangup) = &mut self.hangup
            && hangup.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}
