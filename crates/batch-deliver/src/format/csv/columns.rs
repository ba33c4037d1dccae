//! The columns of rows.

use std::collections::HashSet;
use std::fmt;

use super::cell::{CellType, Types};
use super::scan::Cells;
use crate::console::counted;
use crate::format::items::{Key, Writes};
use crate::format::lines::BYTE_ORDER_MARK;
use crate::source::Flaw;

/// The columns, in their order.
pub(super) struct Columns {
    list: Vec<Column>,
    /// Whether there are spaces around the names: then those around cells without quotes are not part of them either.
    is_padded: bool,
    /// What is to be done about a row that is equal to the header.
    when_repeated: &'static str,
}

pub(super) struct Column {
    pub(super) name: String,
    /// The cell in the header, which may have the type as well.
    header: String,
    pub(super) kind: CellType,
    is_key: bool,
}

impl Columns {
    /// Those of an input without a row.
    pub(super) fn none() -> Self {
        Self {
            list: Vec::new(),
            is_padded: false,
            when_repeated: "",
        }
    }

    /// Those of this header.
    pub(super) fn of_header(
        header: Cells<'_>,
        is_padded: bool,
        types: &Types,
        writes: &Writes,
    ) -> Result<Self, String> {
        let names = header.iter().map(|(name, is_quoted)| {
            let name = if is_quoted { name } else { name.trim_ascii() };
            str::from_utf8(name).map(ToOwned::to_owned)
        });
        let names: Vec<String> = names
            .collect::<Result<_, _>>()
            .map_err(|_| "the header is not UTF-8 text: give --encoding, or save it as UTF-8")?;
        let is_padded = is_padded
            || header
                .iter()
                .any(|(name, is_quoted)| !is_quoted && name.trim_ascii().len() < name.len());
        let list = Self::typed(&names, types, writes)?;
        Ok(Self {
            list,
            is_padded,
            when_repeated: "this row is the header again: leave it out",
        })
    }

    /// Those with these names, of inputs without a header.
    pub(super) fn named(names: &[String], types: &Types, writes: &Writes) -> Result<Self, String> {
        Ok(Self {
            list: Self::typed(names, types, writes)?,
            is_padded: false,
            when_repeated: "this row is the header: leave out --header, or the row",
        })
    }

    /// The types of `--types`, those of the key, or strings.
    fn typed(names: &[String], types: &Types, writes: &Writes) -> Result<Vec<Column>, String> {
        let headers = names;
        let (names, own): (Vec<String>, Vec<Option<CellType>>) = with_types(headers).into_iter().unzip();
        let mut known = HashSet::new();
        if let Some(column) = names.iter().position(|name| name.is_empty() || !known.insert(name)) {
            let fault = match &*names[column] {
                "" => format!("no name for column {}", column + 1),
                name => format!("{name} twice"),
            };
            return Err(format!("the header has {fault}: each column needs a name of its own"));
        }
        if let Some(missing) = types.names().find(|name| !names.contains(name)) {
            return Err(format!(
                "--types has {missing}, but the header has only {}",
                names.join(", ")
            ));
        }
        let key = || writes.key().into_iter().flat_map(Key::attributes);
        if let Some(missing) = key().map(|key| &key.name).find(|name| !names.contains(name)) {
            let advice = match &names[..] {
                [_] => "; if another character separates the cells, give it as --delimiter",
                _ => "",
            };
            let names = names.join(", ");
            return Err(format!(
                "the header has no {missing}, which is part of the table's key, but only {names}{advice}"
            ));
        }
        let columns = names.into_iter().zip(own).zip(headers).map(|((name, own), header)| {
            let of_key = key().find(|attribute| attribute.name == name);
            let kind = types
                .get(&name)
                .or(own)
                .or(of_key.map(|attribute| attribute.kind.into()));
            Column {
                kind: kind.unwrap_or(CellType::S),
                is_key: of_key.is_some(),
                name,
                header: header.clone(),
            }
        });
        Ok(columns.collect())
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Column> {
        self.list.iter()
    }

    /// Checks the number of cells, and that they are not the header again, as in inputs that were concatenated.
    pub(super) fn check(&self, cells: Cells<'_>) -> Result<(), Flaw> {
        let (found, columns) = (cells.len(), self.list.len());
        if found != columns {
            let found = counted(found as u64, "cell");
            return Err(Flaw::new(format!("the row has {found}, but the header has {columns}")));
        }
        let mut pairs = self.list.iter().zip(cells.iter());
        let is_header = pairs.all(|(column, (cell, is_quoted))| {
            let cell = cell.strip_prefix(BYTE_ORDER_MARK).unwrap_or(cell);
            let cell = if is_quoted { cell } else { cell.trim_ascii() };
            cell == column.name.as_bytes() || cell == column.header.as_bytes()
        });
        if is_header {
            return Err(Flaw::new(self.when_repeated));
        }
        let begins_with_mark = |(cell, _): (&[u8], bool)| cell.starts_with(BYTE_ORDER_MARK);
        if cells.iter().next().is_some_and(begins_with_mark) {
            return Err(Flaw::new("a byte order mark is within the input: remove it"));
        }
        Ok(())
    }

    /// The content of a cell.
    pub(super) fn content<'a>(&self, cell: &'a [u8], is_quoted: bool) -> &'a [u8] {
        if self.is_padded && !is_quoted {
            cell.trim_ascii()
        } else {
            cell
        }
    }
}

impl Column {
    /// A key with a space at its edge would be another key than the one that is meant.
    pub(super) fn check_edges(&self, cell: &[u8], is_quoted: bool) -> Result<(), String> {
        let has_space = || cell.trim_ascii().len() < cell.len();
        if self.is_key && self.kind == CellType::S && !is_quoted && has_space() {
            return Err(
                "this part of the key has a space at its edge: remove it, or write quotes around the cell".to_owned(),
            );
        }
        Ok(())
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self
            .list
            .iter()
            .map(|Column { name, kind, .. }| format!("{name}:{kind}"));
        f.write_str(&columns.collect::<Vec<_>>().join(","))
    }
}

/// The names without the types that `DynamoDB`'s console writes behind all of them: `year (N)`.
fn with_types(names: &[String]) -> Vec<(String, Option<CellType>)> {
    let typed = names.iter().map(|text| {
        let (name, kind) = text.strip_suffix(')')?.rsplit_once(" (")?;
        let kind = match kind {
            "L" | "M" => CellType::Json,
            kind => kind.parse().ok()?,
        };
        Some((name.to_owned(), Some(kind)))
    });
    let plain = || names.iter().map(|name| (name.clone(), None)).collect();
    typed.collect::<Option<_>>().unwrap_or_else(plain)
}
