//! `price` and `accounts`.

use chio_host_kernel::Price;
use chio_host_kernel::canonical::MAX_INTEGER;
use chio_host_kernel::money::{Currency, Money};

use super::{named, public_key};
use crate::policy::Account;
use crate::problem::Located;
use crate::yaml::{Cursor, Fields};

pub(super) fn price(section: &Cursor<'_>) -> Option<Located<Price>> {
    let price = section.fields("a mapping, such as { per_call: 1, per_million_fuel: 2, currency: USD }", |f| {
        let per_call = f.or("per_call", 0, |c| c.integer(0..=MAX_INTEGER));
        let per_million_fuel = f.or("per_million_fuel", 0, |c| c.integer(0..=MAX_INTEGER));
        let max_reported = f.take("max_reported").and_then(|c| c.integer(0..=MAX_INTEGER));
        Some(Price { per_call, per_million_fuel, max_reported, currency: need_currency(f)? })
    })??;
    Some(section.locate(price))
}

/// A prepaid account, as written.
#[derive(Debug)]
pub(crate) struct AccountEntry {
    pub(crate) account: Account,
    /// Where its rail is named.
    pub(crate) rail: Option<Located<String>>,
}

pub(super) fn accounts(section: &Cursor<'_>) -> Option<Vec<AccountEntry>> {
    let entries = named(section, "a mapping of accounts, such as agent: { total: 5_000, currency: USD }")?;
    let read = |(name, cursor): (Located<String>, Cursor<'_>)| {
        cursor.fields("a mapping, such as { total: 5_000, currency: USD }", |f| {
            let total = f.need("total", "minor units, such as 5_000").and_then(|c| c.integer(0..=MAX_INTEGER));
            let currency = need_currency(f);
            let subject = f.take("subject").and_then(|c| public_key(&c));
            let rail = f.take("rail").and_then(|c| Some(c.locate(c.text("the name of a payment rail")?.to_owned())));
            let total = Money { units: total?, currency: currency? };
            let named = rail.as_ref().map(|rail| rail.value.clone());
            Some(AccountEntry { account: Account { name: name.value, total, subject, rail: named }, rail })
        })?
    };
    let spots: Vec<_> = entries.iter().map(|(name, _)| name.spot.clone()).collect();
    let accounts: Vec<AccountEntry> = entries.into_iter().filter_map(read).collect();
    if accounts.len() == spots.len() {
        for (i, AccountEntry { account, .. }) in accounts.iter().enumerate() {
            let pays_the_same =
                |other: &Account| other.subject == account.subject && other.total.currency == account.total.currency;
            if let Some(other) = accounts[..i].iter().map(|other| &other.account).find(|other| pays_the_same(other)) {
                let message = format!("pays for the same agent in the same currency as {}; keep one", other.name);
                section.report().at(&spots[i], message);
            }
        }
    }
    Some(accounts)
}

/// `currency` of a mapping that needs one.
pub(crate) fn need_currency(f: &mut Fields<'_, '_>) -> Option<Currency> {
    f.need("currency", "an ISO 4217 code, such as USD").and_then(|cursor| {
        let code = cursor.text("an ISO 4217 code, such as USD")?;
        Currency::try_from(code.to_owned()).map_err(|error| cursor.refuse(error.to_string())).ok()
    })
}
