//! Exports of DynamoDB tables, as DynamoDB writes them to S3.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The list of an export's data files, one on each line.
pub(super) const FILES: &str = "manifest-files.json";

/// The description of an export.
pub(super) const SUMMARY: &str = "manifest-summary.json";

/// The folder of the data files. It is in the folder of a full export, and next to the folders of incremental ones, which share it.
pub(super) const DATA: &str = "data";

/// The most exports of a folder that are named.
const SHOWN: usize = 3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportSummary {
    output_format: Option<String>,
    export_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataFile {
    data_file_s3_key: String,
}

/// The data files of an export.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DataFiles {
    pub(super) files: Vec<PathBuf>,
    pub(super) is_full: bool,
}

/// The data files of an export in this folder. `None` if it is not an export.
pub(super) fn data_files(folder: &Path) -> Result<Option<DataFiles>, String> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    };
    if !folder.join(FILES).exists() {
        return Ok(None);
    }
    let may_be_full = !folder.join(SUMMARY).exists()
        || is_full(&read(SUMMARY)?).map_err(|words| format!("{} {words}", folder.display()))?;
    let names = names(&read(FILES)?).ok_or_else(|| {
        format!(
            "{} is not a list of data files: copy the whole folder of the export again",
            folder.join(FILES).display()
        )
    })?;
    let files = names.iter().map(|name| {
        let path = folder.join(DATA).join(name);
        let shared = parent(folder).join(DATA).join(name);
        match [&path, &shared].into_iter().find(|path| path.exists()) {
            Some(path) => Ok(path.clone()),
            None => Err(format!(
                "{} is missing, and {} too: copy the whole folder of the export, and the folder {DATA} next to it if it is incremental",
                path.display(),
                shared.display()
            )),
        }
    });
    let files: Vec<PathBuf> = files.collect::<Result<_, _>>()?;
    let is_full = may_be_full && files.iter().all(|file| file.starts_with(folder.join(DATA)));
    Ok(Some(DataFiles { files, is_full }))
}

/// The exports in a folder that is not an export itself, and what to do. `None` if there are none.
pub(super) fn below(folder: &Path) -> Option<String> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    // An export is in `AWSDynamoDB`, which may be in a folder for the bucket.
    let children = entries(folder);
    let grandchildren = children.iter().flat_map(|child| entries(child));
    let mut found: Vec<String> = children
        .iter()
        .cloned()
        .chain(grandchildren)
        .filter(|folder| folder.join(FILES).exists())
        .map(|folder| folder.display().to_string())
        .collect();
    found.sort_unstable();
    (!found.is_empty()).then(|| above(&found))
}

/// What is printed about the folder above these exports. It is not loaded, because a later export would be added to it.
pub(super) fn above(exports: &[String]) -> String {
    if let [one] = exports {
        return format!("is the folder above an export: name the export, {one}");
    }
    let shown: Vec<&str> = exports.iter().take(SHOWN).map(String::as_str).collect();
    format!(
        "is the folder above {} exports: name one, such as {}",
        exports.len(),
        shown.join(", ")
    )
}

/// The folder of this one, even if it is relative.
fn parent(folder: &Path) -> PathBuf {
    match folder.file_name() {
        Some(_) => folder.parent().map(Path::to_owned).unwrap_or_default(),
        None => folder.join(".."),
    }
}

/// Whether an export may be a full one, in which each key occurs once. An error if its items cannot be read.
pub(super) fn is_full(summary: &str) -> Result<bool, String> {
    let ExportSummary {
        output_format,
        export_type,
    } = serde_json::from_str(summary)
        .map_err(|_| format!("has a {SUMMARY} that cannot be read: copy the whole folder of the export again"))?;
    match output_format.as_deref() {
        None | Some("DYNAMODB_JSON") => Ok(export_type.as_deref() != Some("INCREMENTAL_EXPORT")),
        Some(other) => Err(format!(
            "is an export in the format {other}: export it again as DYNAMODB_JSON"
        )),
    }
}

/// The names of the data files, without the keys' prefix.
pub(super) fn names(list: &str) -> Option<Vec<String>> {
    let names = list.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let file: DataFile = serde_json::from_str(line).ok()?;
        let name = file.data_file_s3_key.rsplit('/').next()?;
        (!name.is_empty() && name != "..").then(|| name.to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_files_are_those_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert_eq!(data_files(path), Ok(None));
        let list = "{\"itemCount\":1,\"dataFileS3Key\":\"AWSDynamoDB/01/data/b.json.gz\"}\n\
                    {\"itemCount\":2,\"dataFileS3Key\":\"AWSDynamoDB/01/data/a.json.gz\"}\n";
        fs::write(path.join(FILES), list).unwrap();
        let summary = r#"{"itemCount":3,"outputFormat":"DYNAMODB_JSON","exportType":"FULL_EXPORT"}"#;
        fs::write(path.join(SUMMARY), summary).unwrap();
        fs::create_dir(path.join(DATA)).unwrap();
        fs::write(path.join(DATA).join("a.json.gz"), "").unwrap();
        assert!(
            data_files(path)
                .unwrap_err()
                .contains("copy the whole folder of the export")
        );
        fs::write(path.join(DATA).join("b.json.gz"), "").unwrap();
        let files = ["b.json.gz", "a.json.gz"].map(|name| path.join(DATA).join(name));
        let found = DataFiles {
            files: files.to_vec(),
            is_full: true,
        };
        assert_eq!(data_files(path), Ok(Some(found)));
    }

    #[test]
    fn incremental_exports_share_the_folder_of_their_data_files() {
        let folder = tempfile::tempdir().unwrap();
        let export = folder.path().join("01");
        fs::create_dir(&export).unwrap();
        let list = r#"{"itemCount":1,"dataFileS3Key":"AWSDynamoDB/data/a.json.gz"}"#;
        fs::write(export.join(FILES), list).unwrap();
        let refusal = data_files(&export).unwrap_err();
        assert!(refusal.contains("the folder data next to it"), "{refusal}");
        fs::create_dir(folder.path().join(DATA)).unwrap();
        let file = folder.path().join(DATA).join("a.json.gz");
        fs::write(&file, "").unwrap();
        let found = DataFiles {
            files: vec![file],
            is_full: false,
        };
        assert_eq!(data_files(&export), Ok(Some(found)));
    }

    #[test]
    fn an_export_that_has_no_items_is_refused_with_what_to_do() {
        let refusal = |summary: &str| is_full(summary).unwrap_err();
        assert!(refusal(r#"{"outputFormat":"ION"}"#).contains("as DYNAMODB_JSON"));
        assert!(refusal("oops").contains("cannot be read"));
    }
}
