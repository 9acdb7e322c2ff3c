//! Secrets: that each is there. Its value is not read here, and not kept.

use std::path::PathBuf;

use super::Context;
use crate::document::SecretEntry;
use crate::files;
use crate::policy::{Secret, SecretSource};
use crate::problem::{Spot, quote};
use crate::protected::absolute;

impl Context<'_> {
    pub(super) fn secrets(&mut self, entries: &[SecretEntry]) -> Vec<Secret> {
        let resolve = |entry: &SecretEntry| {
            let (name, spot) = (&entry.name.value, &entry.source.spot);
            let source = match &entry.source.value {
                SecretSource::Env(variable) => {
                    if std::env::var_os(variable).is_none_or(|value| value.is_empty()) {
                        let message =
                            format!("the secret {} is not there: the variable {variable} is not set", quote(name));
                        self.report.at(spot, message);
                    }
                    SecretSource::Env(variable.clone())
                }
                SecretSource::File { path, .. } => {
                    SecretSource::File { path: path.clone(), host: self.secret_file(name, path, spot) }
                }
                SecretSource::Command { words, .. } => {
                    let program = words.first().filter(|program| program.contains('/'));
                    let program = program.map(|program| self.secret_file(name, program, spot));
                    SecretSource::Command { words: words.clone(), program }
                }
            };
            Secret { name: name.clone(), source }
        };
        entries.iter().map(resolve).collect()
    }

    /// A file that a secret depends on: it has to be there, and no tool may reach it.
    fn secret_file(&mut self, name: &str, written: &str, spot: &Spot) -> PathBuf {
        let path = absolute(&self.dir.join(written));
        self.protected.add(&format!("the secret {name}"), &path);
        if let Err(why) = files::check(&path) {
            self.report.at(spot, format!("the secret {} is not there: the file {} {why}", quote(name), quote(written)));
        }
        path
    }
}
