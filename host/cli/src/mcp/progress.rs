//! A tool's progress, and what the host waits for, as `notifications/progress`.

use chio_host_kernel::call::{Progress, Signals};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Reports that wait to be sent. A tool that is faster than the client loses the ones in between.
const QUEUED: usize = 16;

/// Whether a tool's words go to the client with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// They do.
    Told,
    /// They do not: the policy has output hooks, and no hook sees a progress report.
    Withheld,
}

/// What a client is told.
enum Report {
    /// By the tool.
    Tool(Progress),
    /// By the host, while the call waits.
    Host(String),
}

/// The smallest step by which the host's own reports count on: the protocol wants each number larger than the last, and a tool's
/// numbers are to come after them.
const STEP: f64 = 1e-6;

/// Lets the host say what a call waits for.
#[derive(Clone)]
pub(super) struct Teller(Sender<Report>);

impl Teller {
    pub(super) fn say(&self, message: String) {
        // As with a tool's: a client that is slow misses one.
        let _ = self.0.try_send(Report::Host(message));
    }
}

/// Progress on its way from a tool to a client that asked for it.
pub(super) struct Relay {
    reports: Receiver<Report>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
    words: Words,
    last: f64,
}

impl Relay {
    /// A relay, the signals of the call whose progress it carries, and the host's own way to it.
    pub(super) fn new(token: ProgressToken, peer: Peer<RoleServer>, words: Words) -> (Self, Signals, Teller) {
        let (sender, reports) = mpsc::channel(QUEUED);
        let teller = Teller(sender.clone());
        let signals = Signals::with_progress(move |progress| {
            // Full or closed: the client misses a report, and the tool goes on.
            let _ = sender.try_send(Report::Tool(progress));
        });
        (Self { reports, token, peer, words, last: f64::NEG_INFINITY }, signals, teller)
    }

    /// Tells the client of each report as it comes; ends when there can be no more.
    pub(super) async fn run(&mut self) {
        while let Some(report) = self.reports.recv().await {
            match report {
                Report::Tool(progress) => {
                    let message = progress.message.filter(|_| self.words == Words::Told);
                    self.tell(progress.done, progress.total, message).await;
                }
                Report::Host(message) => {
                    let from = self.last.max(0.0);
                    let next = (from + STEP).max(from.next_up());
                    self.tell(next, None, Some(message)).await;
                }
            }
        }
    }

    /// Tells the client what is queued. After that nothing is: the protocol wants no progress after the answer.
    pub(super) async fn finish(mut self) {
        self.reports.close();
        self.run().await;
    }

    async fn tell(&mut self, done: f64, total: Option<f64>, message: Option<String>) {
        // The protocol wants each number larger than the last, and JSON has none that is not finite.
        if !done.is_finite() || done <= self.last {
            return;
        }
        self.last = done;
        let mut report = ProgressNotificationParam::new(self.token.clone(), done);
        report.total = total.filter(|total| total.is_finite());
        report.message = message;
        if let Err(error) = self.peer.notify_progress(report).await {
            tracing::debug!(%error, "progress was not sent");
        }
    }
}
