//! Lines in which programs list objects, and which are not keys.

/// What to do about a line that a program lists objects with; `None` if it may be a key.
pub(super) fn of_program(line: &str) -> Option<&'static str> {
    if line.contains('\t') {
        return Some(TABS);
    }
    if serde_json::from_str::<Vec<serde_json::Value>>(line).is_ok() {
        return Some(ARRAY);
    }
    if line.starts_with("s3://") {
        return Some(URL);
    }
    let has_url = line
        .match_indices("s3://")
        .any(|(at, _)| line[..at].ends_with([' ', '\'', '"']));
    if has_url {
        return Some(URL_WITHIN);
    }
    let is_arn = line.starts_with("arn:aws") && line.contains(":s3:::");
    if is_arn || line.starts_with("https://") || line.starts_with("http://") {
        return Some(ADDRESS);
    }
    if is_of_aws(line) {
        return Some(OF_AWS);
    }
    is_of_others(line).then_some(OF_OTHERS)
}

const TABS: &str = "this line has tabs, and would be deleted as one key: `aws s3api list-objects-v2 --bucket BUCKET \
                    --query 'Contents[].[Key]' --output text` writes a key on each line, and --format json takes keys with tabs";

const ARRAY: &str =
    "this is a JSON array, and would be deleted as a key: `jq -r '.[]' FILE` makes lines of it, each of which is a key";

const URL: &str = "this is a URL, and would be deleted as a key: a key is needed, without s3:// and the bucket";

const URL_WITHIN: &str = "a URL is within this line, as in those of s3cmd, s5cmd and `aws s3 rm --dryrun`, and the line would be deleted \
                          as a key: a key is needed, without s3:// and the bucket";

const ADDRESS: &str =
    "this is the address of an object, and would be deleted as a key: a key is needed, without what is before it";

const OF_AWS: &str = "this is a line of `aws s3 ls`, and would be deleted as a key: `aws s3api list-objects-v2 --bucket BUCKET \
                      --query 'Contents[].[Key]' --output text` writes the keys";

const OF_OTHERS: &str = "this is a line of a listing, as those of s5cmd, mc and rclone, and would be deleted as a key: `rclone lsf \
                         --recursive --files-only` and `aws s3api list-objects-v2 --bucket BUCKET --query 'Contents[].[Key]' \
                         --output text` write the keys";

/// Whether this is how `aws s3 ls` shows an object or a folder: `2026-01-01 00:00:00         12 key`, `PRE folder/`.
fn is_of_aws(line: &str) -> bool {
    if line.starts_with(' ') {
        return line.trim_start_matches(' ').starts_with("PRE ");
    }
    behind("0000-00-00 00:00:00 ", line).is_some_and(begins_with_size)
}

/// Whether this is how s5cmd, mc or rclone show an object or a folder.
fn is_of_others(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    if behind("0000/00/00 00:00:00 ", text).is_some_and(begins_with_size)
        || behind("[0000-00-00 00:00:00 ", text).is_some()
    {
        return true;
    }
    if text.len() == line.len() {
        return false;
    }
    // The columns of rclone are aligned to the right.
    let Some((size, name)) = text.split_once(' ') else {
        return false;
    };
    let is_size = size == "-1" || !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    size == "DIR" || is_size && !name.is_empty()
}

fn begins_with_size(text: &str) -> bool {
    let is_size = |size: &str| !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let size = text.trim_start_matches(' ').split_once(' ');
    size.is_some_and(|(size, _)| is_size(size))
}

/// What is behind a text of this shape, in which `0` stands for any digit.
fn behind<'a>(shape: &str, text: &'a str) -> Option<&'a str> {
    let is_alike = |(shape, byte): (u8, u8)| {
        if shape == b'0' {
            byte.is_ascii_digit()
        } else {
            shape == byte
        }
    };
    let is_of_shape = text.len() >= shape.len() && shape.bytes().zip(text.bytes()).all(is_alike);
    is_of_shape.then(|| &text[shape.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_programs_are_no_keys() {
        for (line, words) in [
            ("2026-01-01 00:00:00         12 a", "aws s3 ls"),
            ("2026-01-01 00:00:00    1.2 MiB a b", "aws s3 ls"),
            ("                           PRE dir/", "aws s3 ls"),
            ("2026-01-01 00:00         12  s3://logs/a", "s3cmd"),
            ("                       DIR  s3://logs/dir/", "s3cmd"),
            ("delete: 's3://logs/a'", "s3cmd"),
            ("(dryrun) delete: s3://logs/a", "--dryrun"),
            ("2026/01/01 00:00:00                12  a", "s5cmd"),
            ("                                  DIR  dir/", "s5cmd"),
            ("[2026-01-01 00:00:00 UTC]    12B STANDARD a", "mc"),
            ("       12 a", "rclone"),
            ("       12 2026-01-01 00:00:00.000000000 a", "rclone"),
            ("          -1 2026-01-01 00:00:00        -1 dir", "rclone"),
            ("a\tb", "tabs"),
            ("[\"a\",\"b\"]", "jq -r '.[]'"),
            ("s3://logs/a", "URL"),
            ("https://logs.s3.amazonaws.com/a", "address"),
            ("arn:aws-cn:s3:::logs/a", "address"),
        ] {
            let said = of_program(line).unwrap_or_else(|| panic!("{line}"));
            assert!(said.contains(words), "{line}: {said}");
        }
    }

    #[test]
    fn what_may_be_a_key_is_one() {
        for key in [
            "a/b c",
            " a ",
            " 12",
            "12 a",
            "{not json",
            "a,b",
            "[a]",
            "[2026-01-01] a",
            "2026-01-01 00:00:00 a b",
            "2026-01-01 00:00:00\u{e9}1 a",
            "2026/01/01 00:00:00.log",
            "PRE a/",
            "DIR a",
            "copies-of-s3://logs",
        ] {
            assert_eq!(of_program(key), None, "{key}");
        }
    }
}
