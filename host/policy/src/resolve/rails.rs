//! Payment rails, and the accounts whose money they move.

use super::Context;
use crate::document::{Document, RailEntry};
use crate::policy::{Account, Plugin, Rail};
use crate::problem::{quote, suggestion};

impl Context<'_> {
    pub(super) fn rails(&mut self, document: &Document) -> Vec<Rail> {
        document.rails.iter().filter_map(|entry| self.rail(entry, document)).collect()
    }

    fn rail(&mut self, entry: &RailEntry, document: &Document) -> Option<Rail> {
        let limits = entry.limits.over(&self.host.defaults.rail);
        let (component, asked) = self.component(&entry.wanted(), &limits)?;
        Some(Rail {
            outbound: self.outbound(&entry.granted, &asked, document),
            plugin: Plugin {
                name: entry.name.value.clone(),
                component,
                config: entry.config.clone(),
                limits,
                signer: entry.signer.as_ref().map(|signer| signer.value.clone()),
            },
        })
    }

    /// The accounts, each with a rail that exists or with none.
    pub(super) fn accounts(&self, document: &Document) -> Vec<Account> {
        for rail in document.accounts.iter().filter_map(|entry| entry.rail.as_ref()) {
            if document.rails.iter().any(|known| known.name.value == rail.value) {
                continue;
            }
            let near = suggestion(&rail.value, document.rails.iter().map(|known| known.name.value.as_str()));
            let message = format!("no payment rail is called {}; `rails` names them{near}", quote(&rail.value));
            self.report.at(&rail.spot, message);
        }
        document.accounts.iter().map(|entry| entry.account.clone()).collect()
    }
}
