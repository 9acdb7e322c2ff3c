//! Environment variables: asked by the manifest, granted by the policy, there, and no secret.

use super::Context;
use super::components::Asked;
use crate::document::{Document, SecretEntry, environment};
use crate::policy::{SecretSource, Variable};
use crate::problem::{Located, quote};

impl Context<'_> {
    /// The variables that a server sees. A value of the host's is not kept: it is none of the policy's.
    pub(super) fn environment(
        &self,
        grants: &[Located<Variable>],
        asked: &Asked,
        document: &Document,
    ) -> Vec<Variable> {
        for grant in grants {
            self.check_variable_asked(grant, asked);
            self.check_variable(grant, &document.secrets);
        }
        grants.iter().map(|grant| grant.value.clone()).collect()
    }

    fn check_variable_asked(&self, grant: &Located<Variable>, asked: &Asked) {
        let name = &grant.value.name;
        let why = match asked {
            Asked::Nothing(file) => format!("there is no manifest {} to ask for it", quote(file)),
            Asked::Imports(imports) if imports.environment => return,
            Asked::Imports(_) => "the component imports nothing that reads variables".to_owned(),
            Asked::Manifest(manifest) if manifest.environment.covers(name) => return,
            Asked::Manifest(manifest) => format!("the manifest does not ask for it ({})", manifest.environment_spot()),
        };
        self.report.at(&grant.spot, format!("grants the variable {name}, and {why}"));
    }

    fn check_variable(&self, grant: &Located<Variable>, secrets: &[SecretEntry]) {
        let Variable { name, value } = &grant.value;
        let is_source = |secret: &&SecretEntry| secret.source.value == SecretSource::Env(name.clone());
        let problem = if let Some(secret) = secrets.iter().find(is_source) {
            let secret = quote(&secret.name.value);
            format!(
                "the variable {name} is where the secret {secret} comes from, which no component may hold; remove it"
            )
        } else if value.is_some() {
            return;
        } else {
            match std::env::var(name) {
                Ok(value) if environment::is_value(&value) => return,
                Ok(_) => format!(
                    "the value of {name} is longer than {} bytes, or holds control characters",
                    environment::MAX_VALUE
                ),
                Err(std::env::VarError::NotPresent) => {
                    format!("the variable {name} is not set; set it, or write its value here: {name}=VALUE")
                }
                Err(std::env::VarError::NotUnicode(_)) => format!("the value of {name} is no text in UTF-8"),
            }
        };
        self.report.at(&grant.spot, problem);
    }
}
