//! The types of values that pass between JSON and a component: what WIT can say, less what has no JSON.

/// A type, in full: nothing in it refers to another. How large one may be is for [`super::read`] to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    Int(Int),
    Float(Float),
    Char,
    String,
    /// A list of `u8`.
    Bytes,
    List(Box<Type>),
    Tuple(Vec<Type>),
    Record(Vec<Field>),
    Variant(Vec<Case>),
    Enum(Vec<String>),
    Flags(Vec<String>),
    Option(Box<Type>),
    Result(Box<Sides>),
}

/// A record's field or a function's parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
}

/// A variant's case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) ty: Option<Type>,
}

/// What a result is when all went well, and what otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    pub(crate) ok: Option<Type>,
    pub(crate) err: Option<Type>,
}

/// The integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
}

/// The floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    F32,
    F64,
}

impl Int {
    /// The least and the greatest.
    pub(crate) fn range(self) -> (i128, i128) {
        match self {
            Self::S8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::S16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::S32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::S64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
        }
    }

    /// Whether some of them are beyond what a number of JSON holds exactly.
    pub(crate) fn is_wide(self) -> bool {
        matches!(self, Self::S64 | Self::U64)
    }
}

impl Type {
    /// Whether `null` is one of its values, so that an option of it needs another way to say "none".
    pub(crate) fn takes_null(&self) -> bool {
        matches!(self, Self::Option(_))
    }
}

/// The keys of a variant, and of a result that is part of a value.
pub(crate) const TAG: &str = "tag";
/// What a case holds.
pub(crate) const VALUE: &str = "value";
/// The key around a value whose type takes `null` itself.
pub(crate) const SOME: &str = "some";
/// The cases of a result.
pub(crate) const OK: &str = "ok";
/// The other.
pub(crate) const ERR: &str = "err";
/// The numbers that JSON has no word for.
pub(crate) const NOT_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
