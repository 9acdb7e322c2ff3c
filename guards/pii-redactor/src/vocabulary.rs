//! The words that say what a number beside them is.

use crate::kind::{Kind, Kinds};

/// What a word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// The number may be one of these.
    Kinds(Kinds),
    /// The number is something else.
    Other,
}

pub(crate) const CARD: Says = Says::Kinds(Kinds::of(&[Kind::PaymentCard]));
pub(crate) const PHONE: Says = Says::Kinds(Kinds::of(&[Kind::Phone]));
const SSN: Says = Says::Kinds(Kinds::of(&[Kind::UsSsn, Kind::UsItin]));
/// Words that no country has for itself. Numbers without a check digit are not among what they say.
const ANY: Says = Says::Kinds(Kinds::of(&[
    Kind::UsItin,
    Kind::BrCpf,
    Kind::ArCuit,
    Kind::ClRut,
    Kind::EsDni,
    Kind::EsNie,
    Kind::PtNif,
    Kind::NlBsn,
    Kind::DeTax,
    Kind::BeNational,
    Kind::PlPesel,
    Kind::SePersonal,
    Kind::NoBirth,
    Kind::TrIdentity,
    Kind::IlIdentity,
    Kind::ZaIdentity,
    Kind::InAadhaar,
    Kind::JpMyNumber,
    Kind::KrResident,
    Kind::IePps,
    Kind::AuTfn,
    Kind::CaSin,
]));

pub(crate) const fn only(kind: Kind) -> Says {
    Says::Kinds(Kinds::of(&[kind]))
}

const fn either(kinds: &[Kind]) -> Says {
    Says::Kinds(Kinds::of(kinds))
}

/// What words say by themselves.
pub(crate) const ALONE: &[(&[&str], Says)] = &[
    (
        &[
            "card",
            "cards",
            "creditcard",
            "debitcard",
            "cardnumber",
            "cardno",
            "ccnumber",
            "ccnum",
            "cc",
            "visa",
            "mastercard",
            "amex",
            "maestro",
            "unionpay",
            "kreditkarte",
            "kartennummer",
            "karte",
            "carte",
            "tarjeta",
            "carta",
            "cartao",
            "cartão",
        ],
        CARD,
    ),
    (&["pan"], either(&[Kind::PaymentCard, Kind::InPan])),
    (
        &[
            "phone",
            "phones",
            "telephone",
            "tel",
            "mobile",
            "cellphone",
            "mobil",
            "handy",
            "fax",
            "telefon",
            "telefono",
            "teléfono",
            "telefone",
            "téléphone",
            "tél",
            "telefonnummer",
            "handynummer",
            "mobilnummer",
            "phonenumber",
            "msisdn",
            "whatsapp",
            "gsm",
            "puhelin",
            "telefoon",
        ],
        PHONE,
    ),
    (
        &["iban", "account", "bank", "konto", "kontonummer", "compte", "cuenta", "conto", "rekening", "rekeningnummer"],
        only(Kind::Iban),
    ),
    (&["ssn", "ssns"], SSN),
    (&["itin"], only(Kind::UsItin)),
    (&["sin"], only(Kind::CaSin)),
    (&["curp"], only(Kind::MxCurp)),
    (&["cpf"], only(Kind::BrCpf)),
    (&["cnpj"], only(Kind::BrCnpj)),
    (&["cuit", "cuil"], only(Kind::ArCuit)),
    (&["rut"], only(Kind::ClRut)),
    (&["nhs"], only(Kind::GbNhs)),
    (&["nino"], only(Kind::GbNino)),
    (&["pps", "ppsn"], only(Kind::IePps)),
    (&["dni", "nie"], either(&[Kind::EsDni, Kind::EsNie])),
    (&["nif"], either(&[Kind::EsDni, Kind::EsNie, Kind::PtNif])),
    (&["nir", "insee"], only(Kind::FrNir)),
    (&["bsn", "burgerservicenummer", "sofinummer"], only(Kind::NlBsn)),
    (&["idnr", "steuerid", "steueridnr", "steuernummer", "steueridentifikationsnummer"], only(Kind::DeTax)),
    (&["rijksregisternummer", "niss", "insz"], only(Kind::BeNational)),
    (&["rrn"], either(&[Kind::BeNational, Kind::KrResident])),
    (&["ahv", "avs"], only(Kind::ChAhv)),
    (&["pesel"], only(Kind::PlPesel)),
    (&["personnummer", "samordningsnummer"], only(Kind::SePersonal)),
    (&["fodselsnummer", "fødselsnummer", "fnr"], only(Kind::NoBirth)),
    (&["hetu", "henkilotunnus", "henkilötunnus"], only(Kind::FiPersonal)),
    (&["tckn", "kimlik"], only(Kind::TrIdentity)),
    (&["zehut"], only(Kind::IlIdentity)),
    (&["aadhaar", "aadhar", "uidai"], only(Kind::InAadhaar)),
    (&["mynumber"], only(Kind::JpMyNumber)),
    (&["nric"], only(Kind::SgNric)),
    (&["tfn"], only(Kind::AuTfn)),
    (
        &[
            "order",
            "invoice",
            "ticket",
            "tracking",
            "timestamp",
            "ts",
            "build",
            "version",
            "commit",
            "isbn",
            "issn",
            "doi",
            "port",
            "pid",
            "sku",
            "ean",
            "upc",
            "gtin",
            "barcode",
            "serial",
            "line",
            "issue",
            "bytes",
            "size",
            "hash",
            "revision",
            "nonce",
            "seq",
            "offset",
            "run",
        ],
        Says::Other,
    ),
];

/// What two words say together: one of these, and one of those after it.
pub(crate) const TOGETHER: &[(&[&str], &[&str], Says)] = &[
    (&["credit", "debit"], &["card"], CARD),
    (&["social"], &["security"], SSN),
    (&["social"], &["insurance"], only(Kind::CaSin)),
    (&["national"], &["insurance"], only(Kind::GbNino)),
    (&["codice"], &["fiscale"], only(Kind::ItFiscale)),
    (&["steuer"], &["id", "idnr", "identifikationsnummer"], only(Kind::DeTax)),
    (&["my"], &["number"], only(Kind::JpMyNumber)),
    (&["file"], &["number"], only(Kind::AuTfn)),
    (&["cell", "mobile", "contact"], &["number", "phone", "no"], PHONE),
    (
        &[
            "tax",
            "taxpayer",
            "fiscal",
            "national",
            "identity",
            "identification",
            "citizen",
            "government",
            "personal",
            "resident",
        ],
        &["id", "number", "identification", "identity", "identifier", "code", "card"],
        ANY,
    ),
];
