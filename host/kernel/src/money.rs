//! Money in minor units, with checked arithmetic.

use serde::{Deserialize, Serialize};

/// An amount: `units` minor units (cents, pence, yen) of an ISO 4217 currency.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// Minor units.
    pub units: u64,
    /// Three capital letters.
    pub currency: Currency,
}

/// An ISO 4217 code: three capital letters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency(String);

/// Why an amount is not one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MoneyError {
    /// Not three capital letters.
    #[error("\"{0}\" is not a currency code; three capital letters are (ISO 4217)")]
    Currency(String),
    /// Two currencies in one sum.
    #[error("{0} and {1} cannot be added")]
    Mixed(String, String),
    /// A sum or product beyond 2^64 - 1, or a difference below zero.
    #[error("the amount does not fit")]
    Overflow,
}

impl Currency {
    /// The code.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Currency {
    type Error = MoneyError;

    fn try_from(code: String) -> Result<Self, MoneyError> {
        if code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase()) {
            Ok(Self(code))
        } else {
            Err(MoneyError::Currency(crate::canonical::printable(&code, 16)))
        }
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.0
    }
}

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.units, self.currency.0)
    }
}

impl Money {
    /// The sum of two amounts.
    ///
    /// # Errors
    /// Two currencies, or a sum that does not fit.
    pub fn checked_add(&self, other: &Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        let units = self.units.checked_add(other.units).ok_or(MoneyError::Overflow)?;
        Ok(Self { units, currency: self.currency.clone() })
    }

    /// What is left of this amount after the other.
    ///
    /// # Errors
    /// Two currencies, or less than nothing.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        let units = self.units.checked_sub(other.units).ok_or(MoneyError::Overflow)?;
        Ok(Self { units, currency: self.currency.clone() })
    }

    fn same_currency(&self, other: &Self) -> Result<(), MoneyError> {
        if self.currency == other.currency {
            Ok(())
        } else {
            Err(MoneyError::Mixed(self.currency.0.clone(), other.currency.0.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(units: u64, code: &str) -> Money {
        Money { units, currency: Currency::try_from(code.to_owned()).unwrap() }
    }

    #[test]
    fn arithmetic_is_checked_at_the_edges() {
        assert_eq!(money(u64::MAX, "USD").checked_add(&money(1, "USD")), Err(MoneyError::Overflow));
        assert_eq!(money(0, "USD").checked_sub(&money(1, "USD")), Err(MoneyError::Overflow));
        assert!(matches!(money(1, "USD").checked_add(&money(1, "EUR")), Err(MoneyError::Mixed(..))));
        assert_eq!(money(2, "USD").checked_sub(&money(1, "USD")), Ok(money(1, "USD")));
    }

    #[test]
    fn a_currency_is_three_capitals() {
        for bad in ["", "usd", "US", "USDT", "ÄÖÜ"] {
            assert!(Currency::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
