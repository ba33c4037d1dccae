//! Rows of CSV and TSV.
