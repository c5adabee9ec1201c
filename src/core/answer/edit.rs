use std::borrow::Cow;

/// One change to a stream's headers. Changes are made in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Sets a header in place of every value it had.
    Set(Cow<'static, str>, Vec<u8>),
    /// Adds a value.
    Add(Cow<'static, str>, Vec<u8>),
    /// Removes every value of a header.
    Remove(Cow<'static, str>),
}

/// Removes every header that only Weir may set.
pub fn remove_marks(headers: &[(Vec<u8>, Vec<u8>)]) -> Vec<Edit> {
    headers
        .iter()
        .filter(|(name, _)| name.starts_with(b"x-weir-"))
        .filter_map(|(name, _)| std::str::from_utf8(name).ok())
        .map(|name| Edit::Remove(name.to_owned().into()))
        .collect()
}
