//! Where two places answered differently.

use std::collections::BTreeSet;

use crate::figures::{Answer, Figures};

/// Times, and units, that differ by less are alike.
const TIME: f64 = 0.10;
const UNITS: f64 = 0.01;
/// Shares of rejected entries that differ by less are alike.
const SHARE: f64 = 0.01;
/// What this program counts, and no service answers.
const OURS: [&str; 1] = ["connections closed by the proxy"];

/// Something that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) part: String,
    pub(crate) what: String,
    pub(crate) first: String,
    pub(crate) second: String,
}

/// What differs between the figures of one part.
pub(crate) fn of_figures(part: &str, first: &Figures, second: &Figures) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut differs = |what: String, first: String, second: String| {
        differences.push(Difference {
            part: part.to_owned(),
            what,
            first,
            second,
        });
    };
    let seconds = [first, second].map(|figures| figures.elapsed.as_secs_f64());
    if is_apart(seconds[0], seconds[1], TIME) {
        differs(
            "seconds".to_owned(),
            format!("{:.1}", seconds[0]),
            format!("{:.1}", seconds[1]),
        );
    }
    let shares = [first, second].map(Figures::rejected_share);
    if (shares[0] - shares[1]).abs() >= SHARE {
        differs("rejected".to_owned(), percent(shares[0]), percent(shares[1]));
    }
    if let (Some(one), Some(other)) = (first.units, second.units)
        && is_apart(one, other, UNITS)
    {
        differs("units".to_owned(), format!("{one}"), format!("{other}"));
    }
    if first.problem() != second.problem() {
        let words = |figures: &Figures| figures.problem().unwrap_or_else(|| "none".to_owned());
        differs("problem".to_owned(), words(first), words(second));
    }
    // How often a code comes depends on the time; whether it does, less so.
    let codes: BTreeSet<_> = first.codes.keys().chain(second.codes.keys()).collect();
    for code in codes.into_iter().filter(|code| !OURS.contains(&code.as_str())) {
        let times = [first, second].map(|figures| figures.codes.get(code).copied().unwrap_or_default());
        if times.contains(&0) {
            differs(code.clone(), times[0].to_string(), times[1].to_string());
        }
    }
    differences
}

/// What differs between the answers to the same calls.
pub(crate) fn of_answers(part: &str, first: &[Answer], second: &[Answer]) -> Vec<Difference> {
    let in_second = |call: &str| second.iter().find(|answer| answer.call == call);
    let differs = |answer: &Answer| {
        let other = in_second(answer.call).map_or("not called", |answer| &answer.answer);
        (answer.answer != other).then(|| Difference {
            part: part.to_owned(),
            what: answer.call.to_owned(),
            first: answer.answer.clone(),
            second: other.to_owned(),
        })
    };
    first.iter().filter_map(differs).collect()
}

fn is_apart(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() > share * one.abs().max(other.abs())
}

/// A share in words.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::figures::Stored;
    use crate::figures::tests::figures;

    fn what(first: &Figures, second: &Figures) -> Vec<String> {
        of_figures("bucket", first, second)
            .into_iter()
            .map(|difference| difference.what)
            .collect()
    }

    #[test]
    fn figures_that_are_alike_do_not_differ() {
        let other = Figures {
            elapsed: Duration::from_millis(2_150),
            calls: 60,
            units: Some(1_005.0),
            codes: [
                ("UnprocessedItems".to_owned(), 3),
                ("connections closed by the proxy".to_owned(), 4),
            ]
            .into(),
            ..figures()
        };
        assert_eq!(what(&figures(), &other), Vec::<String>::new());
    }

    #[test]
    fn each_figure_that_is_apart_differs() {
        let slow = Figures {
            elapsed: Duration::from_secs(3),
            ..figures()
        };
        assert_eq!(what(&figures(), &slow), ["seconds"]);
        let rejected = Figures {
            rejected: 30,
            ..figures()
        };
        assert_eq!(what(&figures(), &rejected), ["rejected"]);
        let units = Figures {
            units: Some(2_000.0),
            ..figures()
        };
        assert_eq!(what(&figures(), &units), ["units"]);
        let unknown = Figures {
            units: None,
            ..figures()
        };
        assert_eq!(what(&figures(), &unknown), Vec::<String>::new());
        let lost = Figures {
            stored: Stored::Exactly(999),
            ..figures()
        };
        assert_eq!(what(&figures(), &lost), ["problem"]);
    }

    #[test]
    fn a_code_that_only_one_of_them_has_differs() {
        let other = Figures {
            codes: [("ThrottlingException".to_owned(), 1)].into(),
            ..figures()
        };
        let differences = of_figures("cold", &figures(), &other);
        let shown: Vec<_> = differences
            .iter()
            .map(|one| (&*one.what, &*one.first, &*one.second))
            .collect();
        assert_eq!(
            shown,
            [("ThrottlingException", "0", "1"), ("UnprocessedItems", "10", "0")]
        );
    }

    #[test]
    fn answers_are_compared_call_by_call() {
        let first = [
            Answer::new("put", "1 units"),
            Answer::new("delete", "1 units"),
            Answer::new("read", "ValidationException"),
        ];
        let second = [Answer::new("put", "1 units"), Answer::new("read", "0.5 units")];
        let differences = of_answers("table-answers", &first, &second);
        let shown: Vec<_> = differences.iter().map(|one| (&*one.what, &*one.second)).collect();
        assert_eq!(shown, [("delete", "not called"), ("read", "0.5 units")]);
    }
}
