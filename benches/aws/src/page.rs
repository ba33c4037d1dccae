//! The page: figures, answers and differences in Markdown.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::differences::{Difference, percent};
use crate::figures::{Answer, Figures, Stored};

/// What follows this line is written by a run; what is before it stays.
const WRITTEN: &str = "<!-- What follows is written by .ci/aws. -->";

/// A part at both places, or why it has no figures there.
#[derive(Debug)]
pub(crate) struct Row<T> {
    pub(crate) part: String,
    pub(crate) first: Result<T, String>,
    pub(crate) second: Result<T, String>,
}

/// A whole run.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) date: String,
    pub(crate) region: String,
    /// `None`: AWS, to which all calls were made.
    pub(crate) endpoint: Option<String>,
    pub(crate) names: [String; 2],
    pub(crate) scale: f64,
    pub(crate) dollars: f64,
    pub(crate) figures: Vec<Row<Figures>>,
    pub(crate) answers: Vec<Row<Vec<Answer>>>,
    pub(crate) differences: Vec<Difference>,
}

impl Page {
    /// As Markdown.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // A `String` takes everything.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let [first, second] = &self.names;
        match &self.endpoint {
            None => writeln!(text, "## Run against AWS, {}, {}\n", self.region, self.date)?,
            Some(endpoint) => {
                writeln!(text, "## Not AWS: a run against {first}, {}\n", self.date)?;
                writeln!(
                    text,
                    "**No figure on this page is from AWS.** The endpoint was {endpoint}.\n"
                )?;
            }
        }
        if self.scale < 1.0 {
            writeln!(text, "Each part had {} of its entries.\n", percent(self.scale))?;
        }
        if self.endpoint.is_none() {
            writeln!(
                text,
                "It cost {:.2} dollars at most, by its own estimate.\n",
                self.dollars
            )?;
        }
        if !self.figures.is_empty() {
            writeln!(text, "### Figures\n")?;
            writeln!(
                text,
                "| part | where | entries | there at the end | seconds | a second | calls | sent again | rejected | units | a call, median |"
            )?;
            writeln!(text, "|---|---|---|---|---|---|---|---|---|---|---|")?;
            for row in &self.figures {
                for (place, figures) in [(first, &row.first), (second, &row.second)] {
                    writeln!(text, "| {} | {place} | {} |", row.part, cells(figures))?;
                }
            }
            writeln!(text, "\n### Codes and reasons\n")?;
            writeln!(
                text,
                "Of a call, except `UnprocessedItems` and what names whose fault it is: of an entry.\n"
            )?;
            writeln!(text, "| part | where | code (reason) | times |\n|---|---|---|---|")?;
            for row in &self.figures {
                for (place, figures) in [(first, &row.first), (second, &row.second)] {
                    for (code, times) in figures.iter().flat_map(|figures| &figures.codes) {
                        writeln!(text, "| {} | {place} | {code} | {} |", row.part, grouped(*times))?;
                    }
                }
            }
            writeln!(text)?;
        }
        for row in &self.answers {
            writeln!(text, "### Answers: {}\n", row.part)?;
            match (&row.first, &row.second) {
                (Ok(answers), other) => {
                    writeln!(text, "| call | {first} | {second} |\n|---|---|---|")?;
                    for Answer { call, answer } in answers {
                        let other = other.iter().flatten().find(|other| other.call == *call);
                        writeln!(
                            text,
                            "| {call} | {answer} | {} |",
                            other.map_or("–", |other| &other.answer)
                        )?;
                    }
                    writeln!(text)?;
                }
                (Err(error), _) => writeln!(text, "Failed: {error}\n")?,
            }
        }
        writeln!(text, "### What differs\n")?;
        if self.differences.is_empty() {
            return writeln!(text, "Nothing.");
        }
        writeln!(text, "| part | what | {first} | {second} |\n|---|---|---|---|")?;
        for Difference {
            part,
            what,
            first,
            second,
        } in &self.differences
        {
            writeln!(text, "| {part} | {what} | {first} | {second} |")?;
        }
        Ok(())
    }

    /// Writes it to a file, after what is there before the mark.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let old = fs::read_to_string(path).unwrap_or_default();
        let kept = old.split_once(WRITTEN).map(|(before, _)| before).unwrap_or_default();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(path, format!("{kept}{WRITTEN}\n\n{}", self.text())).with_context(|| path.display().to_string())
    }
}

fn cells(figures: &Result<Figures, String>) -> String {
    let figures = match figures {
        Ok(figures) => figures,
        Err(error) => return format!("failed: {} | | | | | | | | ", error.replace(['\n', '|'], " ")),
    };
    let stored = match figures.stored {
        Stored::Exactly(stored) => grouped(stored),
        Stored::About(stored) => format!("about {}", grouped(stored)),
    };
    format!(
        "{} | {stored} | {:.1} | {:.0} | {} | {} | {} | {} | {}",
        grouped(figures.entries),
        figures.elapsed.as_secs_f64(),
        figures.rate(),
        grouped(figures.calls),
        grouped(figures.sent.saturating_sub(figures.entries)),
        percent(figures.rejected_share()),
        figures.units.map_or("–".to_owned(), |units| format!("{units}")),
        figures.median.map_or("–".to_owned(), |median| format!(
            "{:.1} ms",
            median.as_secs_f64() * 1_000.0
        )),
    )
}

/// With commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::figures;

    fn page(endpoint: Option<&str>) -> Page {
        Page {
            date: "2026-11-29".to_owned(),
            region: "us-east-1".to_owned(),
            endpoint: endpoint.map(str::to_owned),
            names: ["AWS".to_owned(), "simulator".to_owned()],
            scale: 1.0,
            dollars: 1.5,
            figures: vec![Row {
                part: "cold".to_owned(),
                first: Ok(figures()),
                second: Err("no\nway".to_owned()),
            }],
            answers: vec![Row {
                part: "table-answers".to_owned(),
                first: Ok(vec![Answer::new("put", "1 units")]),
                second: Ok(vec![Answer::new("put", "2 units")]),
            }],
            differences: Vec::new(),
        }
    }

    #[test]
    fn a_page_says_whether_it_is_from_aws() {
        let aws = page(None).text();
        assert!(aws.starts_with("## Run against AWS, us-east-1, 2026-11-29"), "{aws}");
        assert!(!aws.contains("No figure"), "{aws}");
        let other = page(Some("http://127.0.0.1:4500")).text();
        assert!(other.starts_with("## Not AWS"), "{other}");
        assert!(other.contains("**No figure on this page is from AWS.**"), "{other}");
    }

    #[test]
    fn rows_have_as_many_cells_as_the_head() {
        let text = page(None).text();
        let cells: Vec<_> = text
            .lines()
            .skip_while(|line| !line.starts_with("| part"))
            .take(4)
            .map(|line| line.matches('|').count())
            .collect();
        assert_eq!(cells, [12; 4], "{text}");
        assert!(text.contains("| put | 1 units | 2 units |"), "{text}");
    }

    #[test]
    fn what_is_before_the_mark_stays() {
        let folder = std::env::temp_dir().join(format!("aws-run-page-{}", std::process::id()));
        let path = folder.join("page.md");
        page(None).save(&path).unwrap();
        fs::write(&path, format!("# A title\n\n{WRITTEN}\nolder figures")).unwrap();
        page(None).save(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_dir_all(folder).unwrap();
        assert!(
            text.starts_with(&format!("# A title\n\n{WRITTEN}\n\n## Run against AWS")),
            "{text}"
        );
        assert!(!text.contains("older figures"), "{text}");
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
