//! The grammar of conditions.

use serde_json::Value;

use super::comparison::{is_ordered, order, tag};
use super::condition::{COMPARATORS, Comparator, Condition, ConditionPart, Operand, Test};
use super::function::Term;
use super::parser::Parser;
use super::path::Path;
use super::token::{Token, TokenKind};
use crate::wire::Refusal;

/// Operators of one expression at most: comparisons, `AND`, `OR`, `NOT`, `BETWEEN` and `IN`, or `+` and `-`.
const MOST_OPERATORS: usize = 300;
/// Values behind `IN` at most.
const MOST_VALUES: usize = 100;

/// What waits for the condition behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingOperator {
    Parenthesis,
    Or,
    And,
    Not,
}

impl Parser<'_, '_> {
    /// The whole expression as a condition: by the precedence of its operators, not by recursion.
    pub(super) fn condition(mut self) -> Result<Condition, Refusal> {
        if has_redundant_parentheses(self.tokens()) {
            return Err(self.invalid("The expression has redundant parentheses;"));
        }
        let (mut parts, mut pending, mut operators) = (Vec::new(), Vec::new(), 0);
        loop {
            loop {
                if self.take_symbol("(") {
                    pending.push(PendingOperator::Parenthesis);
                } else if self.take_keyword("NOT") {
                    pending.push(PendingOperator::Not);
                    operators += 1;
                } else {
                    break;
                }
            }
            let test = self.test(&mut pending)?;
            operators += usize::from(matches!(test, Test::Compare(..) | Test::Between(..) | Test::In(..)));
            parts.push(ConditionPart::Test(test));
            unwind(&mut parts, &mut pending, PendingOperator::Not);
            while self.is_at_symbol(")") {
                unwind(&mut parts, &mut pending, PendingOperator::Or);
                if pending.pop() != Some(PendingOperator::Parenthesis) {
                    return Err(self.syntax_error());
                }
                self.take_symbol(")");
                unwind(&mut parts, &mut pending, PendingOperator::Not);
            }
            let operator = if self.take_keyword("AND") {
                PendingOperator::And
            } else if self.take_keyword("OR") {
                PendingOperator::Or
            } else {
                break;
            };
            operators += 1;
            unwind(&mut parts, &mut pending, operator);
            pending.push(operator);
        }
        unwind(&mut parts, &mut pending, PendingOperator::Or);
        if !self.is_at_end() || !pending.is_empty() {
            return Err(self.syntax_error());
        }
        self.check_operators(operators)?;
        Ok(Condition { parts })
    }

    pub(super) fn check_operators(&self, operators: usize) -> Result<(), Refusal> {
        if operators <= MOST_OPERATORS {
            return Ok(());
        }
        Err(self.invalid(format_args!(
            "The expression contains too many operators; operator count: {}",
            MOST_OPERATORS + 1
        )))
    }

    /// A comparison or a function. An operand may be in parentheses of its own, which are taken from those that are open.
    fn test(&mut self, pending: &mut Vec<PendingOperator>) -> Result<Test, Refusal> {
        let operand = match self.term()? {
            Term::Operand(operand) => operand,
            Term::Test(_, name) if self.comparator().is_some() => return Err(self.misused(name)),
            Term::Test(test, _) => return Ok(test),
        };
        while pending.last() == Some(&PendingOperator::Parenthesis) && self.take_symbol(")") {
            pending.pop();
        }
        if let Some(comparator) = self.comparator() {
            let other = self.operand()?;
            self.check_ordered(comparator.symbol(), comparator.needs_order(), [&operand, &other])?;
            self.check_distinct(comparator.symbol(), &operand, &other)?;
            return Ok(Test::Compare(operand, comparator, other));
        }
        if self.take_keyword("BETWEEN") {
            let low = self.operand()?;
            if !self.take_keyword("AND") {
                return Err(self.syntax_error());
            }
            let high = self.operand()?;
            self.check_ordered("BETWEEN", true, [&operand, &low, &high])?;
            self.check_bounds(&low, &high)?;
            return Ok(Test::Between(operand, low, high));
        }
        if self.take_keyword("IN") {
            self.expect_symbol("(")?;
            let among = self.operands()?;
            if among.len() > MOST_VALUES {
                return Err(self.invalid(format_args!(
                    "The IN operator is provided with too many operands; number of operands: {}",
                    among.len()
                )));
            }
            return Ok(Test::In(operand, among));
        }
        match operand {
            Operand::Size(_) => Err(self.misused("size")),
            _ => Err(self.syntax_error()),
        }
    }

    fn comparator(&mut self) -> Option<Comparator> {
        let found = COMPARATORS.into_iter().find(|(symbol, _)| self.take_symbol(symbol))?;
        Some(found.1)
    }

    /// An operand that may be in parentheses.
    fn operand(&mut self) -> Result<Operand, Refusal> {
        let mut opened = 0;
        while self.take_symbol("(") {
            opened += 1;
        }
        let operand = match self.term()? {
            Term::Operand(operand) => operand,
            Term::Test(_, name) => return Err(self.misused(name)),
        };
        for _ in 0..opened {
            self.expect_symbol(")")?;
        }
        Ok(operand)
    }

    /// Operands up to the parenthesis.
    fn operands(&mut self) -> Result<Vec<Operand>, Refusal> {
        let mut operands = vec![self.operand()?];
        while self.take_symbol(",") {
            operands.push(self.operand()?);
        }
        self.expect_symbol(")")?;
        Ok(operands)
    }

    fn term(&mut self) -> Result<Term, Refusal> {
        if let Some(name) = self.take_function() {
            return self.function(name);
        }
        if let Some(value) = self.take_value()? {
            return Ok(Term::Operand(Operand::Value(value.clone())));
        }
        Ok(Term::Operand(Operand::Path(self.path()?)))
    }

    pub(super) fn misused(&self, function: &str) -> Refusal {
        self.invalid(format_args!(
            "The function is not allowed to be used this way in an expression; function: {function}"
        ))
    }

    pub(super) fn wrong_type(&self, operator: &str, tag: &str) -> Refusal {
        self.invalid(format_args!(
            "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {tag}"
        ))
    }

    /// Values of the request that are compared by their order must have one.
    fn check_ordered<'o>(
        &self,
        operator: &str,
        needs_order: bool,
        operands: impl IntoIterator<Item = &'o Operand>,
    ) -> Result<(), Refusal> {
        let tags = operands.into_iter().filter_map(Operand::tag);
        match tags.filter(|tag| !is_ordered(tag)).find(|_| needs_order) {
            Some(tag) => Err(self.wrong_type(operator, tag)),
            None => Ok(()),
        }
    }

    pub(super) fn check_distinct(&self, operator: &str, one: &Operand, other: &Operand) -> Result<(), Refusal> {
        let path = |operand: &Operand| match operand {
            Operand::Path(path) => Some(path.clone()),
            _ => None,
        };
        let same: Option<Path> = path(one).filter(|one| path(other).is_some_and(|other| other == *one));
        match same {
            Some(path) => Err(self.invalid(format_args!(
                "The first operand must be distinct from the remaining operands for this operator or function; operator: \
                 {operator}, first operand: {path}"
            ))),
            None => Ok(()),
        }
    }

    /// Both bounds of a `BETWEEN` that the request has are of one type, and in their order.
    fn check_bounds(&self, low: &Operand, high: &Operand) -> Result<(), Refusal> {
        let (Operand::Value(low), Operand::Value(high)) = (low, high) else {
            return Ok(());
        };
        let problem = match order(low, high) {
            None => "requires same data type for lower and upper bounds",
            Some(order) if order.is_gt() => "requires upper bound to be greater than or equal to lower bound",
            Some(_) => return Ok(()),
        };
        Err(self.invalid(format_args!(
            "The BETWEEN operator {problem}; lower bound operand: AttributeValue: {}, upper bound operand: AttributeValue: {}",
            shown(low),
            shown(high)
        )))
    }
}

/// A string, number or binary value as in errors.
fn shown(value: &Value) -> String {
    let content = value[tag(value)].as_str().unwrap_or_default();
    format!("{{{}:{content}}}", tag(value))
}

/// Takes the operators that bind at least as tightly as this one, up to the last parenthesis.
fn unwind(parts: &mut Vec<ConditionPart>, pending: &mut Vec<PendingOperator>, operator: PendingOperator) {
    let rank = |pending: PendingOperator| match pending {
        PendingOperator::Parenthesis => 0,
        PendingOperator::Or => 1,
        PendingOperator::And => 2,
        PendingOperator::Not => 3,
    };
    while let Some(last) = pending.last().copied().filter(|last| rank(*last) >= rank(operator)) {
        pending.pop();
        parts.push(match last {
            PendingOperator::Or => ConditionPart::Or,
            PendingOperator::And => ConditionPart::And,
            PendingOperator::Not | PendingOperator::Parenthesis => ConditionPart::Not,
        });
    }
}

/// Whether there are parentheses around nothing but parentheses.
fn has_redundant_parentheses(tokens: &[Token<'_>]) -> bool {
    let mut opened = Vec::new();
    // Of the last pair that was closed: the places of its parentheses.
    let mut closed: Option<(usize, usize)> = None;
    for (place, token) in tokens.iter().enumerate() {
        match token.text {
            "(" => opened.push(place),
            ")" => {
                let Some(start) = opened.pop() else { return false };
                let is_function = start.checked_sub(1).is_some_and(|before| is_function(&tokens[before]));
                if !is_function && closed == Some((start + 1, place.saturating_sub(1))) {
                    return true;
                }
                closed = Some((start, place));
            }
            _ => {}
        }
    }
    false
}

fn is_function(token: &Token<'_>) -> bool {
    let keywords = ["AND", "OR", "NOT", "BETWEEN"];
    token.kind == TokenKind::Word && !keywords.iter().any(|keyword| token.text.eq_ignore_ascii_case(keyword))
}
