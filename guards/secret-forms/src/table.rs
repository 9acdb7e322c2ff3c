//! The forms that tokens have, as their issuers write them.
//!
//! A table and not regular expressions: every call runs in a fresh instance, and compiling the expressions would cost it
//! far more than looking.

use std::iter;

/// Which characters go on with a token.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    Upper,
    Lower,
    Hex,
    Alphanumeric,
    /// Base64 for addresses: with `-` and `_`.
    Url,
    /// `Url` with dots, which part a token's sections.
    Dotted,
    /// `Url` with slashes, which part an address's steps.
    Path,
    /// Base64.
    Base64,
}

impl Body {
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

pub(crate) struct Form {
    pub(crate) prefix: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) body: Body,
    /// How many characters follow the prefix, in bytes.
    pub(crate) least: usize,
    pub(crate) most: usize,
}

const fn form(prefix: &'static str, kind: &'static str, body: Body, least: usize, most: usize) -> Form {
    Form { prefix, kind, body, least, most }
}

const LONG: usize = 4096;

/// A longer prefix comes before one that it begins with.
pub(crate) const FORMS: &[Form] = &[
    form("AKIA", "aws-access-key", Body::Upper, 16, 16),
    form("ASIA", "aws-access-key", Body::Upper, 16, 16),
    form("ABIA", "aws-access-key", Body::Upper, 16, 16),
    form("ACCA", "aws-access-key", Body::Upper, 16, 16),
    form("ghp_", "github-token", Body::Alphanumeric, 30, 255),
    form("gho_", "github-token", Body::Alphanumeric, 30, 255),
    form("ghs_", "github-token", Body::Dotted, 30, LONG),
    form("ghu_", "github-token", Body::Alphanumeric, 30, 255),
    form("ghr_", "github-token", Body::Alphanumeric, 30, 255),
    form("github_pat_", "github-token", Body::Url, 22, 255),
    form("glpat-", "gitlab-token", Body::Dotted, 20, 300),
    form("gldt-", "gitlab-token", Body::Dotted, 20, 300),
    form("glrt-", "gitlab-token", Body::Dotted, 20, 300),
    form("glptt-", "gitlab-token", Body::Dotted, 20, 300),
    form("glcbt-", "gitlab-token", Body::Dotted, 20, 300),
    form("glsoat-", "gitlab-token", Body::Dotted, 20, 300),
    form("glagent-", "gitlab-token", Body::Dotted, 20, 300),
    form("GR1348941", "gitlab-token", Body::Url, 20, 60),
    form("ATBB", "bitbucket-token", Body::Alphanumeric, 28, 40),
    form("ATATT3", "atlassian-token", Body::Url, 100, 400),
    form("xoxb-", "slack-token", Body::Url, 10, 300),
    form("xoxp-", "slack-token", Body::Url, 10, 300),
    form("xoxa-", "slack-token", Body::Url, 10, 300),
    form("xoxo-", "slack-token", Body::Url, 10, 300),
    form("xoxr-", "slack-token", Body::Url, 10, 300),
    form("xoxs-", "slack-token", Body::Url, 10, 300),
    form("xoxc-", "slack-token", Body::Url, 10, 300),
    form("xoxd-", "slack-token", Body::Url, 10, 300),
    form("xoxe-", "slack-token", Body::Url, 10, 300),
    form("xoxe.xox", "slack-token", Body::Url, 10, 300),
    form("xapp-", "slack-token", Body::Url, 10, 300),
    form("hooks.slack.com/services/", "slack-webhook", Body::Base64, 20, 200),
    form("hooks.slack.com/workflows/", "slack-webhook", Body::Base64, 20, 200),
    form("discord.com/api/webhooks/", "discord-webhook", Body::Path, 60, 150),
    form("discordapp.com/api/webhooks/", "discord-webhook", Body::Path, 60, 150),
    form("sk_live_", "stripe-key", Body::Alphanumeric, 16, 300),
    form("rk_live_", "stripe-key", Body::Alphanumeric, 16, 300),
    form("sk_test_", "stripe-key", Body::Alphanumeric, 16, 300),
    form("rk_test_", "stripe-key", Body::Alphanumeric, 16, 300),
    form("whsec_", "stripe-key", Body::Base64, 24, 200),
    form("sq0csp-", "square-token", Body::Url, 40, 50),
    form("sq0atp-", "square-token", Body::Url, 20, 30),
    form("AIza", "google-api-key", Body::Url, 35, 35),
    form("ya29.", "google-oauth-token", Body::Url, 20, LONG),
    form("1//0", "google-oauth-token", Body::Url, 40, 300),
    form("GOCSPX-", "google-oauth-secret", Body::Url, 20, 60),
    form("sk-ant-", "anthropic-key", Body::Url, 20, 300),
    form("sk-proj-", "openai-key", Body::Url, 20, 300),
    form("sk-svcacct-", "openai-key", Body::Url, 20, 300),
    form("sk-admin-", "openai-key", Body::Url, 20, 300),
    form("sk-or-v1-", "openrouter-key", Body::Hex, 32, 100),
    form("sk-", "openai-key", Body::Alphanumeric, 32, 100),
    form("gsk_", "groq-key", Body::Alphanumeric, 40, 80),
    form("xai-", "xai-key", Body::Alphanumeric, 60, 120),
    form("pplx-", "perplexity-key", Body::Alphanumeric, 40, 80),
    form("r8_", "replicate-token", Body::Alphanumeric, 37, 40),
    form("hf_", "huggingface-token", Body::Alphanumeric, 30, 100),
    form("npm_", "npm-token", Body::Alphanumeric, 36, 36),
    form("pypi-", "pypi-token", Body::Url, 50, 1000),
    form("rubygems_", "rubygems-token", Body::Hex, 48, 48),
    form("cio", "crates-token", Body::Alphanumeric, 32, 32),
    form("oy2", "nuget-key", Body::Lower, 43, 43),
    form("SG.", "sendgrid-key", Body::Dotted, 60, 80),
    form("dop_v1_", "digitalocean-token", Body::Hex, 64, 64),
    form("doo_v1_", "digitalocean-token", Body::Hex, 64, 64),
    form("dor_v1_", "digitalocean-token", Body::Hex, 64, 64),
    form("dapi", "databricks-token", Body::Hex, 32, 32),
    form("hvs.", "vault-token", Body::Url, 24, 300),
    form("hvb.", "vault-token", Body::Url, 24, 300),
    form("atlasv1.", "terraform-token", Body::Url, 60, 80),
    form("AGE-SECRET-KEY-1", "age-key", Body::Upper, 58, 58),
    form("AccountKey=", "azure-storage-key", Body::Base64, 40, 100),
    form("SharedAccessKey=", "azure-access-key", Body::Base64, 40, 100),
    form("lin_api_", "linear-key", Body::Alphanumeric, 32, 60),
    form("shpat_", "shopify-token", Body::Hex, 32, 32),
    form("shpss_", "shopify-token", Body::Hex, 32, 32),
    form("shpca_", "shopify-token", Body::Hex, 32, 32),
    form("dckr_pat_", "docker-token", Body::Url, 20, 60),
    form("glsa_", "grafana-token", Body::Url, 40, 60),
    form("glc_", "grafana-token", Body::Base64, 40, 400),
    form("NRAK-", "new-relic-key", Body::Upper, 27, 27),
    form("sntrys_", "sentry-token", Body::Dotted, 60, 600),
    form("sntryu_", "sentry-token", Body::Hex, 64, 64),
    form("PMAK-", "postman-key", Body::Url, 59, 59),
    form("pul-", "pulumi-token", Body::Hex, 40, 40),
    form("dp.pt.", "doppler-token", Body::Alphanumeric, 40, 50),
    form("dp.st.", "doppler-token", Body::Dotted, 40, 80),
    form("pscale_tkn_", "planetscale-token", Body::Dotted, 32, 64),
    form("pscale_pw_", "planetscale-token", Body::Dotted, 32, 64),
    form("sbp_", "supabase-token", Body::Hex, 40, 40),
    form("nfp_", "netlify-token", Body::Alphanumeric, 36, 60),
    form("ntn_", "notion-token", Body::Alphanumeric, 40, 60),
    form("secret_", "notion-token", Body::Alphanumeric, 43, 43),
    form("figd_", "figma-token", Body::Url, 40, 60),
    form("HRKU-", "heroku-key", Body::Url, 36, 80),
    form("tskey-", "tailscale-key", Body::Url, 20, 80),
    form("dt0c01.", "dynatrace-token", Body::Dotted, 80, 100),
    form("pat-na1-", "hubspot-token", Body::Url, 36, 36),
    form("pat-eu1-", "hubspot-token", Body::Url, 36, 36),
    form("CCIPAT_", "circleci-token", Body::Url, 40, 100),
    form("bkua_", "buildkite-token", Body::Hex, 40, 40),
    form("squ_", "sonarqube-token", Body::Hex, 40, 40),
    form("AKCp", "artifactory-key", Body::Alphanumeric, 60, 80),
    form("ops_eyJ", "onepassword-token", Body::Url, 200, LONG),
    form("sk.eyJ", "mapbox-token", Body::Dotted, 60, 300),
];

/// What begins a secret that is more than a prefix and a body.
pub(crate) const JSON_WEB_TOKEN: &str = "eyJ";
pub(crate) const PEM: &str = "-----BEGIN ";
pub(crate) const SSH2: &str = "---- BEGIN SSH2 ";
pub(crate) const PUTTY: &str = "PuTTY-User-Key-File-";
const OTHERS: [&str; 4] = [JSON_WEB_TOKEN, PEM, SSH2, PUTTY];

/// How many of a prefix's first bytes the index looks at; none is shorter.
const INDEXED_BYTES: usize = 3;

const fn prefix_at(index: usize) -> &'static str {
    if index < FORMS.len() { FORMS[index].prefix } else { OTHERS[index - FORMS.len()] }
}

/// Which prefixes have a byte at a place, a bit each: first the forms in their order, then the others.
const INDEX: [[u128; 256]; INDEXED_BYTES] = {
    assert!(FORMS.len() + OTHERS.len() <= 128, "a prefix is a bit");
    let mut index = [[0; 256]; INDEXED_BYTES];
    let mut prefix = 0;
    while prefix < FORMS.len() + OTHERS.len() {
        let text = prefix_at(prefix).as_bytes();
        let mut place = 0;
        while place < INDEXED_BYTES {
            index[place][text[place] as usize] |= 1 << prefix;
            place += 1;
        }
        prefix += 1;
    }
    index
};
static INDEXED: [[u128; 256]; INDEXED_BYTES] = INDEX;

/// Which bytes come second where one comes first, a bit each: most words are told by that from every secret.
static SECOND: [[u64; 4]; 256] = {
    let mut second = [[0; 4]; 256];
    let mut prefix = 0;
    while prefix < FORMS.len() + OTHERS.len() {
        let text = prefix_at(prefix).as_bytes();
        second[text[0] as usize][text[1] as usize / 64] |= 1 << (text[1] % 64);
        prefix += 1;
    }
    second
};

/// Which prefixes a text may begin with, or may become one of, judged by its first bytes.
fn prefixes(text: &[u8]) -> u128 {
    text.iter().zip(&INDEXED).fold(u128::MAX, |set, (byte, index)| set & index[usize::from(*byte)])
}

const BEGINNINGS: [bool; 256] = {
    let mut beginnings = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        beginnings[byte] = INDEX[0][byte] != 0;
        byte += 1;
    }
    beginnings
};
static BEGINS: [bool; 256] = BEGINNINGS;

/// Whether a byte may begin a secret, where none before it is a letter or a digit; for other tables.
pub(crate) const fn is_beginning(byte: u8) -> bool {
    BEGINNINGS[byte as usize]
}

/// The same, looked up.
pub(crate) fn may_begin(byte: u8) -> bool {
    BEGINS[usize::from(byte)]
}

/// Whether a text may begin as a secret does.
pub(crate) fn may_be_one(text: &[u8]) -> bool {
    let [first, second, _, ..] = text else { return false };
    let fits = SECOND[usize::from(*first)][usize::from(*second / 64)] >> (second % 64) & 1 == 1;
    fits && prefixes(text) != 0
}

/// Whether a text begins as a secret does.
pub(crate) fn begins(text: &[u8]) -> bool {
    may_be_one(text) && bits(prefixes(text)).any(|prefix| text.starts_with(prefix_at(prefix).as_bytes()))
}

/// Whether a text may begin with a secret: after a prefix there is as much as a token has, or the prefix is not all there is
/// to say. `secret_path` has a prefix and is no token.
pub(crate) fn may_hold(text: &[u8]) -> bool {
    let is_long = |form: &Form| {
        let body = text.get(form.prefix.len()..).unwrap_or_default();
        body.get(..form.least).is_some_and(|body| body.iter().all(|byte| form.body.has(*byte)))
    };
    let holds = |prefix| text.starts_with(prefix_at(prefix).as_bytes()) && FORMS.get(prefix).is_none_or(is_long);
    may_be_one(text) && bits(prefixes(text)).any(holds)
}

/// Whether a text begins as a secret does, or is the beginning of such a beginning.
pub(crate) fn may_become_one(text: &[u8]) -> bool {
    let fits = |prefix: &[u8]| text.starts_with(prefix) || prefix.starts_with(text);
    !text.is_empty() && bits(prefixes(text)).any(|prefix| fits(prefix_at(prefix).as_bytes()))
}

/// The forms whose prefixes a text may begin with, or may become.
pub(crate) fn forms(text: &[u8]) -> impl Iterator<Item = &'static Form> {
    bits(prefixes(text)).filter_map(|prefix| FORMS.get(prefix))
}

/// The bits that are set, from the lowest; only those that are a prefix's.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        bit.filter(|bit| *bit < FORMS.len() + OTHERS.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_knows_every_prefix_and_its_beginnings() {
        for prefix in FORMS.iter().map(|form| form.prefix).chain(OTHERS) {
            assert!(begins(prefix.as_bytes()), "{prefix}");
            for length in 1..prefix.len() {
                assert!(may_become_one(&prefix.as_bytes()[..length]), "{prefix} to {length}");
            }
            assert!(!may_become_one(format!("{}~", &prefix[..2]).as_bytes()), "{prefix}");
        }
        assert!(!begins(b"gh") && !may_become_one(b"") && !may_become_one(b"ghq_"));
    }

    #[test]
    fn a_longer_prefix_comes_first() {
        for (at, form) in FORMS.iter().enumerate() {
            let earlier = &FORMS[..at];
            assert!(!earlier.iter().any(|earlier| form.prefix.starts_with(earlier.prefix)), "{}", form.prefix);
        }
    }
}
