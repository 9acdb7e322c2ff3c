//! What personal data there is.

/// A kind of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    PaymentCard,
    Iban,
    Phone,
    Email,
    UsSsn,
    UsItin,
    CaSin,
    MxCurp,
    BrCpf,
    BrCnpj,
    ArCuit,
    ClRut,
    GbNhs,
    GbNino,
    IePps,
    EsDni,
    EsNie,
    PtNif,
    FrNir,
    ItFiscale,
    NlBsn,
    DeTax,
    BeNational,
    ChAhv,
    PlPesel,
    SePersonal,
    NoBirth,
    FiPersonal,
    TrIdentity,
    IlIdentity,
    ZaIdentity,
    InAadhaar,
    InPan,
    CnResident,
    JpMyNumber,
    KrResident,
    SgNric,
    AuTfn,
}

/// The name of all kinds that a state gives to a person.
const NATIONAL: &str = "national-id";

impl Kind {
    /// All kinds, as they are reported.
    const NAMES: [(Self, &'static str); 38] = [
        (Self::PaymentCard, "payment-card"),
        (Self::Iban, "iban"),
        (Self::Phone, "phone-number"),
        (Self::Email, "email-address"),
        (Self::UsSsn, "us-ssn"),
        (Self::UsItin, "us-itin"),
        (Self::CaSin, "ca-sin"),
        (Self::MxCurp, "mx-curp"),
        (Self::BrCpf, "br-cpf"),
        (Self::BrCnpj, "br-cnpj"),
        (Self::ArCuit, "ar-cuit"),
        (Self::ClRut, "cl-rut"),
        (Self::GbNhs, "gb-nhs-number"),
        (Self::GbNino, "gb-nino"),
        (Self::IePps, "ie-pps"),
        (Self::EsDni, "es-dni"),
        (Self::EsNie, "es-nie"),
        (Self::PtNif, "pt-nif"),
        (Self::FrNir, "fr-nir"),
        (Self::ItFiscale, "it-codice-fiscale"),
        (Self::NlBsn, "nl-bsn"),
        (Self::DeTax, "de-tax-id"),
        (Self::BeNational, "be-national-number"),
        (Self::ChAhv, "ch-ahv"),
        (Self::PlPesel, "pl-pesel"),
        (Self::SePersonal, "se-personnummer"),
        (Self::NoBirth, "no-fodselsnummer"),
        (Self::FiPersonal, "fi-hetu"),
        (Self::TrIdentity, "tr-kimlik"),
        (Self::IlIdentity, "il-zehut"),
        (Self::ZaIdentity, "za-id"),
        (Self::InAadhaar, "in-aadhaar"),
        (Self::InPan, "in-pan"),
        (Self::CnResident, "cn-resident-id"),
        (Self::JpMyNumber, "jp-my-number"),
        (Self::KrResident, "kr-resident-number"),
        (Self::SgNric, "sg-nric"),
        (Self::AuTfn, "au-tfn"),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("personal-data", |(_, name)| name)
    }
}

impl Kind {
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u64);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn of(kinds: &[Kind]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < kinds.len() {
            set |= 1 << kinds[at] as u8;
            at += 1;
        }
        Self(set)
    }

    pub(crate) const fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, kind: Kind) -> Self {
        Self(self.0 & !(1 << kind as u8))
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds that a policy names: each by itself, or `national-id` for all of a state's.
    ///
    /// # Errors
    /// Names what is no kind, and says which there are.
    pub(crate) fn named(names: &[String]) -> Result<Self, String> {
        const OTHERS: Kinds = Kinds::of(&[Kind::PaymentCard, Kind::Iban, Kind::Phone, Kind::Email]);
        names.iter().try_fold(Self::NONE, |set, name| {
            if name == NATIONAL {
                return Ok(Self(set.0 | Self::all().0 & !OTHERS.0));
            }
            let kind = Kind::by_name(name).ok_or_else(|| {
                let known: Vec<_> = Kind::NAMES.iter().map(|(_, name)| *name).collect();
                let short: String = name.chars().take(40).collect();
                format!("{short:?} is no kind; there are {NATIONAL}, {}", known.join(", "))
            })?;
            Ok(set.and(Self::of(&[kind])))
        })
    }

    pub(crate) fn all() -> Self {
        Kind::NAMES.iter().fold(Self::NONE, |set, (kind, _)| set.and(Self::of(&[*kind])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_and_sets() {
        assert_eq!(Kind::AuTfn as usize + 1, Kind::NAMES.len());
        for (kind, name) in Kind::NAMES {
            assert_eq!(kind.name(), name);
            assert_eq!(Kinds::named(&[name.to_owned()]), Ok(Kinds::of(&[kind])));
        }
        let national = Kinds::named(&["national-id".into()]).unwrap();
        assert!(national.has(Kind::UsSsn) && !national.has(Kind::Email));
        assert!(Kinds::named(&["cards".into()]).unwrap_err().contains("payment-card"));
    }
}
