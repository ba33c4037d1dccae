//! Reads an expression token by token.

use serde_json::Value;

use super::path::{DEEPEST, Path, Step};
use super::placeholders::Placeholders;
use super::reserved::is_reserved;
use super::token::{Token, TokenKind, tokens};
use crate::wire::Refusal;

/// Bytes of an expression at most.
const LONGEST: usize = 4_096;

/// An expression that is read.
pub(super) struct Parser<'a, 'p> {
    source: &'a str,
    /// The member of the request, as in errors.
    member: &'static str,
    tokens: Vec<Token<'a>>,
    next: usize,
    placeholders: &'p mut Placeholders<'a>,
}

impl<'a, 'p> Parser<'a, 'p> {
    /// The expression in this member of a request, if there is one.
    pub(super) fn of(
        request: &'a Value,
        member: &'static str,
        placeholders: &'p mut Placeholders<'a>,
    ) -> Result<Option<Self>, Refusal> {
        let source = match &request[member] {
            Value::Null => return Ok(None),
            Value::String(source) => source.as_str(),
            _ => return Err(crate::dynamo::value::unexpected()),
        };
        let parser = Self {
            source,
            member,
            tokens: Vec::new(),
            next: 0,
            placeholders,
        };
        if source.is_empty() {
            return Err(parser.invalid("The expression can not be empty;"));
        }
        if source.len() > LONGEST {
            return Err(parser.invalid(format_args!(
                "Expression size has exceeded the maximum allowed size; expression size: {}",
                source.len()
            )));
        }
        Ok(Some(Self {
            tokens: tokens(source),
            ..parser
        }))
    }

    pub(super) fn invalid(&self, problem: impl std::fmt::Display) -> Refusal {
        self.placeholders
            .wording
            .refuse(format!("Invalid {}: {problem}", self.member))
    }

    /// The refusal of the next token.
    pub(super) fn syntax_error(&self) -> Refusal {
        let end = |token: &Token<'_>| token.start + token.text.len();
        let Some(token) = self.tokens.get(self.next) else {
            let near = self.tokens.last().map_or(self.source, |last| last.text);
            return self.invalid(format_args!("Syntax error; token: \"<EOF>\", near: \"{near}\""));
        };
        let before = self.next.checked_sub(1).map_or(token, |before| &self.tokens[before]);
        let after = self.tokens.get(self.next + 1).unwrap_or(token);
        self.invalid(format_args!(
            "Syntax error; token: \"{}\", near: \"{}\"",
            token.text,
            &self.source[before.start..end(after)]
        ))
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.next == self.tokens.len()
    }

    pub(super) fn tokens(&self) -> &[Token<'a>] {
        &self.tokens
    }

    pub(super) fn is_at_symbol(&self, symbol: &str) -> bool {
        let token = self.tokens.get(self.next);
        token.is_some_and(|token| token.kind == TokenKind::Symbol && token.text == symbol)
    }

    pub(super) fn take_symbol(&mut self, symbol: &str) -> bool {
        let is_next = self.is_at_symbol(symbol);
        self.next += usize::from(is_next);
        is_next
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<(), Refusal> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.syntax_error())
        }
    }

    /// Takes a keyword, in any case.
    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        let token = self.tokens.get(self.next);
        let is_next =
            token.is_some_and(|token| token.kind == TokenKind::Word && token.text.eq_ignore_ascii_case(keyword));
        self.next += usize::from(is_next);
        is_next
    }

    /// Takes the name of a function and the parenthesis behind it.
    pub(super) fn take_function(&mut self) -> Option<&'a str> {
        let name = self.tokens.get(self.next)?;
        let parenthesis = self.tokens.get(self.next + 1)?;
        let is_keyword = ["AND", "OR", "NOT", "IN", "BETWEEN"]
            .iter()
            .any(|keyword| name.text.eq_ignore_ascii_case(keyword));
        if name.kind != TokenKind::Word || is_keyword || parenthesis.text != "(" {
            return None;
        }
        self.next += 2;
        Some(name.text)
    }

    /// Takes a placeholder of a value.
    pub(super) fn take_value(&mut self) -> Result<Option<&'a Value>, Refusal> {
        let Some(token) = self
            .tokens
            .get(self.next)
            .filter(|token| token.kind == TokenKind::Value)
        else {
            return Ok(None);
        };
        self.next += 1;
        let value = self.placeholders.value(token.text);
        value.map(Some).map_err(|problem| self.invalid(problem))
    }

    /// The path that comes next.
    pub(super) fn path(&mut self) -> Result<Path, Refusal> {
        let mut path = Path::attribute(self.name()?);
        loop {
            if self.take_symbol(".") {
                path.steps.push(Step::Name(self.name()?));
            } else if self.take_symbol("[") {
                let token = self
                    .tokens
                    .get(self.next)
                    .filter(|token| token.kind == TokenKind::Number);
                let digits = token.ok_or_else(|| self.syntax_error())?.text;
                let index = digits.parse::<i32>().ok().and_then(|index| usize::try_from(index).ok());
                let index = index.ok_or_else(|| {
                    self.invalid(format_args!(
                        "List index is not within the allowable range; index: [{digits}]"
                    ))
                })?;
                self.next += 1;
                self.expect_symbol("]")?;
                path.steps.push(Step::Index(index));
            } else {
                break;
            }
        }
        let levels = path.steps.len() + 1;
        if levels > DEEPEST {
            return Err(self.invalid(format_args!(
                "The document path has too many nesting elements; nesting levels: {levels}"
            )));
        }
        Ok(path)
    }

    /// The name of an attribute, or what its placeholder stands for.
    fn name(&mut self) -> Result<String, Refusal> {
        let token = *self.tokens.get(self.next).ok_or_else(|| self.syntax_error())?;
        match token.kind {
            TokenKind::Name => {
                self.next += 1;
                let name = self.placeholders.name(token.text);
                name.map(str::to_owned).map_err(|problem| self.invalid(problem))
            }
            TokenKind::Word if is_reserved(token.text) => Err(self.invalid(format_args!(
                "Attribute name is a reserved keyword; reserved keyword: {}",
                token.text
            ))),
            TokenKind::Word => {
                self.next += 1;
                Ok(token.text.to_owned())
            }
            _ => Err(self.syntax_error()),
        }
    }
}
