//! `servers`: tool servers and what each is granted.

use std::collections::BTreeMap;

use chio_host_kernel::Price;
use chio_host_kernel::facts::{ArgumentFact, normalise};
use serde_json::Value;

use super::capabilities::tool;
use super::network::network;
use super::plugins::{Common, Source, common};
use super::secrets::{self, SecretGrantEntry};
use super::{environment, money, named, path};
use crate::limits::LimitOverrides;
use crate::manifest::arguments;
use crate::policy::{Access, NetworkGrant, Variable};
use crate::problem::Located;
use crate::yaml::Cursor;

/// One tool server, as written.
#[derive(Debug)]
pub(crate) struct ServerEntry {
    pub(crate) name: Located<String>,
    pub(crate) source: Source,
    pub(crate) config: Value,
    pub(crate) limits: LimitOverrides,
    pub(crate) signer: Option<Located<String>>,
    pub(crate) granted: Granted,
    pub(crate) price: Option<Located<Price>>,
    pub(crate) arguments: BTreeMap<String, Vec<ArgumentFact>>,
}

/// A tool that a server's tools may call, as written.
#[derive(Debug)]
pub(crate) struct InvokeGrant {
    pub(crate) server: Located<String>,
    pub(crate) tool: String,
}

/// What a component is granted, as written.
#[derive(Debug, Default)]
pub(crate) struct Granted {
    pub(crate) files: Vec<FileGrant>,
    pub(crate) network: Vec<Located<NetworkGrant>>,
    pub(crate) secrets: Vec<SecretGrantEntry>,
    pub(crate) environment: Vec<Located<Variable>>,
    pub(crate) invoke: Vec<InvokeGrant>,
}

/// One folder that a server is granted, as written.
#[derive(Debug)]
pub(crate) struct FileGrant {
    pub(crate) path: Located<String>,
    pub(crate) access: Located<Access>,
    /// Where the guest sees it.
    pub(crate) at: String,
}

pub(super) fn read(section: &Cursor<'_>) -> Option<Vec<ServerEntry>> {
    let entries = named(section, "a mapping of tool servers, such as files: { component: builtin:files }")?;
    let read = |(name, cursor): (Located<String>, Cursor<'_>)| {
        cursor.fields("a mapping, such as { component: builtin:files }", |f| {
            let Common { source, config, limits, signer } = common(f);
            ServerEntry {
                name,
                source,
                config,
                limits,
                signer,
                granted: f.or("permissions", Granted::default(), |c| permissions(&c)),
                price: f.take("price").and_then(|c| money::price(&c)),
                arguments: f.or("arguments", BTreeMap::new(), |c| arguments(&c)),
            }
        })
    };
    Some(entries.into_iter().filter_map(read).collect())
}

pub(super) fn permissions(section: &Cursor<'_>) -> Option<Granted> {
    section.fields("a mapping, such as { files: [{ path: ./workspace, access: read }] }", |f| {
        let files = f.or("files", Vec::new(), |c| {
            let items = c.list("a list, such as [{ path: ./workspace, access: read }]")?;
            let grants: Vec<FileGrant> = items.iter().filter_map(file_grant).collect();
            refuse_twins(&grants, section);
            Some(grants)
        });
        Granted {
            files,
            network: f.or("network", Vec::new(), |c| network(&c)),
            secrets: f.or("secrets", Vec::new(), |c| secrets::grants(&c)),
            environment: f.or("environment", Vec::new(), |c| environment::grants(&c)),
            invoke: f.or("invoke", Vec::new(), |c| {
                let items = c.list("a list, such as [{ server: hello, tool: hello_world }]")?;
                Some(items.iter().filter_map(invoke_grant).collect())
            }),
        }
    })
}

fn invoke_grant(item: &Cursor<'_>) -> Option<InvokeGrant> {
    item.fields("a mapping, such as { server: hello, tool: hello_world }", |f| {
        let server = f.need("server", "a tool server's name").and_then(|c| {
            let name = c.text("a tool server's name")?;
            Some(c.locate(name.to_owned()))
        });
        let tool = f.need("tool", "a tool's name, or \"*\"").and_then(|c| tool(&c));
        Some(InvokeGrant { server: server?, tool: tool? })
    })?
}

fn file_grant(item: &Cursor<'_>) -> Option<FileGrant> {
    item.fields("a mapping, such as { path: ./workspace, access: read-write }", |f| {
        let host = f.need("path", "a folder, relative to the policy file").and_then(|c| Some(c.locate(path(&c)?)));
        let access = f.need("access", "read or read-write").and_then(|c| {
            let access = c.choice(&[("read", Access::Read), ("read-write", Access::ReadWrite)])?;
            Some(c.locate(access))
        });
        let given = f.take("at").map(|c| (guest_path(&c), c));
        let host = host?;
        let at = match given {
            Some((at, _)) => at?,
            None => default_guest_path(host.value).or_else(|| {
                item.report().at(&host.spot, "has no name inside the sandbox; say where with at: /workspace");
                None
            })?,
        };
        Some(FileGrant { path: Located { value: host.value.to_owned(), spot: host.spot }, access: access?, at })
    })?
}

fn guest_path(cursor: &Cursor<'_>) -> Option<String> {
    let text = path(cursor)?;
    match normalise(text) {
        Some(at) if at.starts_with('/') => Some(at),
        _ => {
            cursor.refuse("is no absolute path in the sandbox, such as /workspace");
            None
        }
    }
}

/// Where the guest sees a folder that no `at` places: an absolute path at itself, so that guards judge the real one;
/// `./data/in` at `/data/in`; `../shared` at `/shared`.
fn default_guest_path(host: &str) -> Option<String> {
    let path = normalise(host)?;
    let inside = path.trim_start_matches("../");
    match inside {
        ".." => None,
        "." => Some("/".to_owned()),
        _ if inside.starts_with('/') => Some(inside.to_owned()),
        _ => Some(format!("/{inside}")),
    }
}

fn refuse_twins(grants: &[FileGrant], section: &Cursor<'_>) {
    for (i, grant) in grants.iter().enumerate() {
        if grants[..i].iter().any(|earlier| earlier.at == grant.at) {
            let message = format!("a second folder at {} in the sandbox; place it elsewhere with at: /name", grant.at);
            section.report().at(&grant.path.spot, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_place_is_seen_by_its_name() {
        for (host, guest) in [
            ("./workspace", Some("/workspace")),
            ("data/in/", Some("/data/in")),
            (".", Some("/")),
            ("../shared", Some("/shared")),
            ("../../a/b", Some("/a/b")),
            ("/srv/data", Some("/srv/data")),
            ("..", None),
            ("../..", None),
        ] {
            assert_eq!(default_guest_path(host).as_deref(), guest, "{host}");
        }
    }
}
