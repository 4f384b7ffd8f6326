//! A choice of tables and columns.

use std::collections::BTreeMap;

use crate::schema::{Column, Table};

/// Tables and columns that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Names of columns by table, in the order of the schema.
    tables: BTreeMap<&'static str, Vec<&'static str>>,
}

/// A table or column that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unknown(String);

impl Selection {
    /// The tables of these names, all for none, and the columns of these names, all for none. A column is `NAME`, of all
    /// tables that have it, or `TABLE.NAME`.
    ///
    /// ```
    /// use trackway_columns::Selection;
    /// let chosen = Selection::new(&["memory".into()], &["number".into(), "memory.address".into()])?;
    /// assert_eq!(chosen.columns("memory"), ["number", "address"]);
    /// assert!(Selection::new(&[], &["adress".into()]).is_err());
    /// # Ok::<(), trackway_columns::Unknown>(())
    /// ```
    pub fn new(names: &[String], columns: &[String]) -> Result<Self, Unknown> {
        let mut tables = Vec::new();
        for name in names {
            let table = Table::named(name).ok_or_else(|| {
                let known: Vec<&str> = Table::ALL.iter().map(|table| table.name).collect();
                Unknown(format!("{name}: tables are {}", known.join(", ")))
            })?;
            tables.push(table);
        }
        if tables.is_empty() {
            tables = Table::ALL.to_vec();
        }
        for name in columns {
            let is_known = tables.iter().any(|table| table.columns.iter().any(|one| is(name, table, one)));
            if !is_known {
                return Err(unknown_column(name, &tables));
            }
        }
        let wanted = |table: &Table, column: &Column| {
            columns.is_empty() || columns.iter().any(|name| is(name, table, column))
        };
        let mut chosen = BTreeMap::new();
        for table in tables {
            let found: Vec<_> = table
                .columns
                .iter()
                .filter(|column| wanted(table, column))
                .map(|column| column.name)
                .collect();
            if found.is_empty() {
                return Err(Unknown(format!("no column of {} is asked for", table.name)));
            }
            chosen.insert(table.name, found);
        }
        Ok(Selection { tables: chosen })
    }

    /// One whole table.
    pub fn of(table: &'static Table) -> Self {
        let columns = table.columns.iter().map(|column| column.name).collect();
        Selection { tables: BTreeMap::from([(table.name, columns)]) }
    }

    /// The same tables with the columns that `other` has of them.
    pub fn only(mut self, other: &Selection) -> Self {
        for (table, columns) in &mut self.tables {
            columns.retain(|column| other.has(table, column));
        }
        self
    }

    /// The tables, in the order of the schema.
    pub fn tables(&self) -> impl Iterator<Item = &'static Table> {
        Table::ALL.iter().copied().filter(|table| self.tables.contains_key(table.name))
    }

    /// The columns of a table; none where it is not asked for.
    pub fn columns(&self, table: &str) -> &[&'static str] {
        self.tables.get(table).map_or(&[], Vec::as_slice)
    }

    /// True if a column is asked for.
    pub fn has(&self, table: &str, column: &str) -> bool {
        self.columns(table).contains(&column)
    }

    /// True if some column depends on events before the place it belongs to.
    pub fn needs_past(&self) -> bool {
        let carried = ["time", "cycles", "context", "gap_before"];
        self.tables.values().flatten().any(|column| carried.contains(column))
    }
}

fn is(name: &str, table: &Table, column: &Column) -> bool {
    name == column.name || name.split_once('.') == Some((table.name, column.name))
}

fn unknown_column(name: &str, tables: &[&'static Table]) -> Unknown {
    let of = |table: &&Table| {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        format!("{}: {}", table.name, names.join(", "))
    };
    let known: Vec<String> = tables.iter().map(of).collect();
    Unknown(format!("{name}: not a column of {}", known.join("; of ")))
}
