//! The capabilities that a command works with: the policy's own, issued to the local agent, or those of a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chio_host_kernel::canonical;
use chio_host_kernel::capability::{CapabilityBody, CapabilityToken, Operation, SCHEMA};
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ports::Clock;
use chio_host_policy::CapabilityTemplate;

use crate::error::CliError;
use crate::folders::make_private;

/// How large a token's file may be, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// Holds tokens, and issues the policy's own again when they expire.
pub(crate) struct Wallet {
    tokens: Mutex<Vec<Arc<CapabilityToken>>>,
    issuing: Option<Issuing>,
}

/// What it takes to issue.
pub(crate) struct Issuing {
    /// What the policy gives its agent.
    pub(crate) templates: Vec<CapabilityTemplate>,
    /// Who signs.
    pub(crate) issuer: Keypair,
    /// To whom: a public key, lower-case hex.
    pub(crate) subject: String,
    /// Under which policy.
    pub(crate) policy_hash: String,
    /// Where issued tokens are kept, so that the next command counts on the same one: a limit of 100 calls is not 100 for
    /// every command.
    pub(crate) dir: PathBuf,
    /// When.
    pub(crate) clock: Arc<dyn Clock>,
}

impl Wallet {
    /// A wallet of one token from a file.
    pub(crate) fn from_file(path: &Path) -> Result<Self, CliError> {
        let token = read(path)?;
        Ok(Self { tokens: Mutex::new(vec![Arc::new(token)]), issuing: None })
    }

    /// A wallet of the policy's own tokens, those of an earlier command where they are still good.
    pub(crate) fn issue(issuing: Issuing) -> Result<Self, CliError> {
        if issuing.templates.is_empty() {
            return Err(CliError::Usage(
                "the policy grants its agent nothing: add a section `capabilities`, or name a token with --capability"
                    .into(),
            ));
        }
        make_private(&issuing.dir)?;
        let tokens = (0..issuing.templates.len()).map(|i| issuing.token(i)).collect::<Result<_, _>>()?;
        Ok(Self { tokens: Mutex::new(tokens), issuing: Some(issuing) })
    }

    /// The token to call this tool with: the first that covers it. Where none does, the first: the kernel then refuses,
    /// and its receipt says why.
    pub(crate) fn token_for(&self, server: &str, tool: &str) -> Result<Arc<CapabilityToken>, CliError> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let index = tokens.iter().position(|t| covers(t, server, tool)).unwrap_or(0);
        if let Some(issuing) = &self.issuing
            && !issuing.is_good(&tokens[index])
        {
            tokens[index] = issuing.token(index)?;
        }
        Ok(tokens[index].clone())
    }

    /// Whether any token covers this tool.
    pub(crate) fn covers(&self, server: &str, tool: &str) -> bool {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter().any(|t| covers(t, server, tool))
    }
}

fn covers(token: &CapabilityToken, server: &str, tool: &str) -> bool {
    token.body().scope.select(server, tool, Operation::Invoke).is_some()
}

impl Issuing {
    fn is_good(&self, token: &CapabilityToken) -> bool {
        let now = self.clock.now_ms() / 1000;
        (token.body().issued_at..token.body().expires_at).contains(&now)
    }

    /// The kept token, or a new one that is kept from now on.
    fn token(&self, index: usize) -> Result<Arc<CapabilityToken>, CliError> {
        let template = &self.templates[index];
        let path = self.dir.join(self.file_name(template));
        if let Some(kept) = self.kept(&path, template) {
            return Ok(Arc::new(kept));
        }
        let token = issue(template, &self.issuer, self.subject.clone(), self.clock.now_ms() / 1000);
        write(&path, &token)?;
        Ok(Arc::new(token))
    }

    fn file_name(&self, template: &CapabilityTemplate) -> String {
        let identity = serde_json::json!([self.policy_hash, self.subject, template.name]);
        format!("{}.json", &canonical::hash(&identity)[..32])
    }

    /// A kept token that is still ours and still good. Anything else is as if it were not there.
    fn kept(&self, path: &Path, template: &CapabilityTemplate) -> Option<CapabilityToken> {
        let token = read(path).ok()?;
        let body = token.body();
        let ours = body.issuer == self.issuer.public().hex()
            && body.subject == self.subject
            && body.scope == template.scope()
            && body.expires_at.saturating_sub(body.issued_at) == template.ttl_secs();
        (ours && self.is_good(&token) && token.verify().is_ok()).then_some(token)
    }
}

/// A new token of what a policy gives.
pub(crate) fn issue(template: &CapabilityTemplate, issuer: &Keypair, subject: String, now: u64) -> CapabilityToken {
    let body = CapabilityBody {
        schema: SCHEMA.to_owned(),
        id: new_id(),
        issuer: issuer.public().hex().to_owned(),
        subject,
        scope: template.scope(),
        issued_at: now,
        expires_at: now.saturating_add(template.ttl_secs()),
        delegation_chain: Vec::new(),
    };
    CapabilityToken::issue(body, issuer)
}

/// The id of a new capability.
pub(crate) fn new_id() -> String {
    format!("cap-{}", uuid::Uuid::now_v7())
}

/// The token of a file.
pub(crate) fn read(path: &Path) -> Result<CapabilityToken, CliError> {
    use std::io::Read;
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|e| CliError::path(path, e))?;
    file.take(MAX_FILE).read_to_end(&mut text).map_err(|e| CliError::path(path, e))?;
    CapabilityToken::parse(&text).map_err(|error| CliError::Capability { path: path.to_owned(), error })
}

/// Whole or not at all.
fn write(path: &Path, token: &CapabilityToken) -> Result<(), CliError> {
    use std::io::Write;
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(|e| CliError::path(dir, e))?;
    file.write_all(token.to_json().to_string().as_bytes()).map_err(|e| CliError::path(path, e))?;
    file.persist(path).map_err(|e| CliError::path(path, e.error))?;
    Ok(())
}
