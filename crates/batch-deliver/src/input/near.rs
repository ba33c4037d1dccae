//! Names that may be meant by one that does not exist.

use std::fs;
use std::path::Path;

/// The most names that are told.
const TOLD: usize = 3;

/// The similarity, from 0 to 1, from which a name may be a slip of another one.
const SIMILAR: f64 = 0.85;

/// The names in a folder that are most like the wanted one. All of them begin with the folder.
pub(super) fn nearest(folder: &str, wanted: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let within = |name: &str| name.strip_prefix(folder).unwrap_or(name).to_owned();
    let wanted = within(wanted);
    let mut near: Vec<(f64, String)> = names
        .into_iter()
        .map(|name| (similarity(&wanted, &within(&name)), name))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .collect();
    near.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
    near.dedup();
    near.into_iter().take(TOLD).map(|(_, name)| name).collect()
}

/// Names that differ only in case or a slash at the end are as similar as can be, then those of which one begins the other.
fn similarity(one: &str, other: &str) -> f64 {
    let folded = |name: &str| name.trim_end_matches('/').to_lowercase();
    let (one, other) = (folded(one), folded(other));
    if one == other {
        2.0
    } else if !one.is_empty() && !other.is_empty() && (one.starts_with(&other) || other.starts_with(&one)) {
        1.0
    } else {
        strsim::jaro_winkler(&one, &other).min(0.999)
    }
}

/// What follows after the words that something is missing.
pub(super) fn words(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; near it is {one}"),
        [others @ .., last] => format!("; near it are {} and {last}", others.join(", ")),
    }
}

/// Files and folders near a path, in the last of its folders that exists.
pub(super) fn of_path(path: &Path) -> Vec<String> {
    for missing in path.ancestors() {
        let (Some(folder), Some(name)) = (missing.parent(), missing.file_name()) else {
            break;
        };
        let searched = if folder == Path::new("") {
            Path::new(".")
        } else {
            folder
        };
        let Ok(entries) = fs::read_dir(searched) else { continue };
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().display().to_string()));
        let near = nearest("", &name.display().to_string(), names);
        return near
            .iter()
            .map(|name| folder.join(name).display().to_string())
            .collect();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_near_and_other_names_are_not() {
        let names = [
            "in/",
            "in/users.json.bak",
            "in/Users.json",
            "in/films/",
            "in/user.json",
            "in/z",
        ];
        let near = |wanted: &str| nearest("in/", wanted, names.map(str::to_owned));
        assert_eq!(
            near("in/users.json"),
            ["in/Users.json", "in/users.json.bak", "in/user.json"]
        );
        assert_eq!(near("in/films"), ["in/films/"]);
        assert_eq!(near("in/flims/"), ["in/films/"]);
        assert_eq!(near("in/y"), Vec::<String>::new());
    }
}
