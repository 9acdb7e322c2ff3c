//! A tool's progress, as `notifications/progress`.

use chio_host_kernel::call::{Progress, Signals};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::sync::mpsc::{self, Receiver};

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

/// Progress on its way from a tool to a client that asked for it.
pub(super) struct Relay {
    reports: Receiver<Progress>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
    words: Words,
    last: f64,
}

impl Relay {
    /// A relay, and the signals of the call whose progress it carries.
    pub(super) fn new(token: ProgressToken, peer: Peer<RoleServer>, words: Words) -> (Self, Signals) {
        let (sender, reports) = mpsc::channel(QUEUED);
        let signals = Signals::with_progress(move |progress| {
            // Full or closed: the client misses a report, and the tool goes on.
            let _ = sender.try_send(progress);
        });
        (Self { reports, token, peer, words, last: f64::NEG_INFINITY }, signals)
    }

    /// Tells the client of each report as it comes; ends when there can be no more.
    pub(super) async fn run(&mut self) {
        while let Some(progress) = self.reports.recv().await {
            self.tell(progress).await;
        }
    }

    /// Tells the client what is queued. After that nothing is: the protocol wants no progress after the answer.
    pub(super) async fn finish(mut self) {
        self.reports.close();
        self.run().await;
    }

    async fn tell(&mut self, progress: Progress) {
        // The protocol wants each number larger than the last, and JSON has none that is not finite.
        if !progress.done.is_finite() || progress.done <= self.last {
            return;
        }
        self.last = progress.done;
        let mut report = ProgressNotificationParam::new(self.token.clone(), progress.done);
        report.total = progress.total.filter(|total| total.is_finite());
        report.message = progress.message.filter(|_| self.words == Words::Told);
        if let Err(error) = self.peer.notify_progress(report).await {
            tracing::debug!(%error, "progress was not sent");
        }
    }
}
