//! Whether a condition leaves any row out.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Delete, Expr, FromTable, InTarget, JoinConstraint, JoinOperator, Merge, MergeAction, Query,
    SetExpr, TableFactor, TableWithJoins, UnaryOperator, Update, UpdateTableFromKind, Value, visit_expressions,
};

pub(crate) fn is_unbounded_update(update: &Update) -> bool {
    let from = match &update.from {
        Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from.as_slice(),
        None => &[],
    };
    let is_joined = joins_on_something(std::slice::from_ref(&update.table)) || joins_on_something(from);
    !is_joined && is_open(update.selection.as_ref(), table_name(&update.table.relation).as_deref())
}

pub(crate) fn is_unbounded_delete(delete: &Delete) -> bool {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let is_joined = joins_on_something(from) || delete.using.as_deref().is_some_and(joins_on_something);
    let table = from.first().and_then(|table| table_name(&table.relation));
    !is_joined && is_open(delete.selection.as_ref(), table.as_deref())
}

pub(crate) fn is_unbounded_merge(merge: &Merge) -> bool {
    let changes = |action: &MergeAction| matches!(action, MergeAction::Update(_) | MergeAction::Delete { .. });
    let is_bare = |predicate: Option<&Expr>| is_open(predicate, None);
    is_open(Some(&merge.on), None)
        && merge.clauses.iter().any(|clause| changes(&clause.action) && is_bare(clause.predicate.as_ref()))
}

fn is_open(condition: Option<&Expr>, table: Option<&str>) -> bool {
    condition.is_none_or(|condition| is_always_true(condition, table))
}

/// Whether a join leaves rows out.
fn joins_on_something(tables: &[TableWithJoins]) -> bool {
    tables.iter().flat_map(|table| &table.joins).any(|join| {
        // The others keep every row of the first table.
        let (JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::StraightJoin(constraint)) = &join.join_operator
        else {
            return false;
        };
        match constraint {
            JoinConstraint::On(condition) => !is_always_true(condition, None),
            JoinConstraint::Using(_) | JoinConstraint::UsingAlias(..) | JoinConstraint::Natural => true,
            JoinConstraint::None => false,
        }
    })
}

/// Whether a condition is true of every row, as far as its form tells: `1=1`, `id = id`, `x OR true`, whatever names no column.
fn is_always_true(condition: &Expr, table: Option<&str>) -> bool {
    use BinaryOperator::{And, Eq, GtEq, LtEq, Or, Spaceship, Xor};
    let is_true = |condition: &Expr| is_always_true(condition, table);
    match condition {
        Expr::Nested(inner) | Expr::IsTrue(inner) | Expr::IsNotFalse(inner) => is_true(inner),
        Expr::BinaryOp { left, op: And, right } => is_true(left) && is_true(right),
        Expr::BinaryOp { left, op: Or | Xor, right } => is_true(left) || is_true(right) || are_opposite(left, right),
        Expr::BinaryOp { left, op: Eq | GtEq | LtEq | Spaceship, right } if is_same(left, right) => true,
        Expr::IsNotDistinctFrom(left, right) if is_same(left, right) => true,
        Expr::Like { negated: false, pattern, .. } | Expr::ILike { negated: false, pattern, .. } if is_any(pattern) => {
            true
        }
        Expr::Between { expr, negated: false, low, high } if is_same(expr, low) && is_same(expr, high) => true,
        Expr::In { expr, target: InTarget::List(list), negated: false, .. }
            if list.iter().any(|item| is_same(expr, item)) =>
        {
            true
        }
        Expr::In { target: InTarget::Subquery(query), negated: false, .. } if is_whole(query, table) => true,
        Expr::Exists { subquery, negated: false } => {
            matches!(subquery.body.as_ref(), SetExpr::Select(select) if select.selection.is_none() && select.having.is_none())
        }
        other => names_no_column(other),
    }
}

/// Whether nothing in the expression depends on the row.
fn names_no_column(expression: &Expr) -> bool {
    visit_expressions(expression, |part| match part {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::CompoundFieldAccess { .. }
        | Expr::JsonAccess { .. }
        | Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::In { target: InTarget::Subquery(_) | InTarget::Table { .. }, .. }
        | Expr::MatchAgainst { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_continue()
}

/// Whether both sides are written alike, so that they are equal wherever they are not null.
fn is_same(left: &Expr, right: &Expr) -> bool {
    let (left, right) = (unnested(left), unnested(right));
    match (left, right) {
        (Expr::CompoundIdentifier(parts), Expr::Identifier(name))
        | (Expr::Identifier(name), Expr::CompoundIdentifier(parts)) => {
            parts.last().is_some_and(|last| last.value.eq_ignore_ascii_case(&name.value))
        }
        (Expr::Identifier(left), Expr::Identifier(right)) => left.value.eq_ignore_ascii_case(&right.value),
        (Expr::CompoundIdentifier(left), Expr::CompoundIdentifier(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| left.value.eq_ignore_ascii_case(&right.value))
        }
        _ => left == right || left.to_string() == right.to_string(),
    }
}

fn unnested(expression: &Expr) -> &Expr {
    let mut expression = expression;
    while let Expr::Nested(inner) = expression {
        expression = inner;
    }
    expression
}

/// `x IS NULL OR x IS NOT NULL`, `x = 1 OR x <> 1`, `x OR NOT x`.
fn are_opposite(left: &Expr, right: &Expr) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    match (unnested(left), unnested(right)) {
        (Expr::IsNull(left), Expr::IsNotNull(right)) | (Expr::IsNotNull(left), Expr::IsNull(right)) => {
            is_same(left, right)
        }
        (Expr::UnaryOp { op: UnaryOperator::Not, expr }, other)
        | (other, Expr::UnaryOp { op: UnaryOperator::Not, expr }) => is_same(expr, other),
        (Expr::BinaryOp { left: a, op, right: b }, Expr::BinaryOp { left: c, op: other, right: d }) => {
            let covers =
                matches!((op, other), (Eq, NotEq) | (NotEq, Eq) | (Lt | LtEq, Gt | GtEq) | (Gt | GtEq, Lt | LtEq));
            // `x < 5 OR x > 5` leaves one value out, which is not what anybody asks for.
            covers && is_same(a, c) && is_same(b, d)
        }
        _ => false,
    }
}

/// A pattern that everything matches.
fn is_any(pattern: &Expr) -> bool {
    match unnested(pattern) {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => {
                !text.is_empty() && text.chars().all(|c| c == '%')
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether a query gives every row of the table that is changed.
fn is_whole(query: &Query, table: Option<&str>) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let [from] = select.from.as_slice() else { return false };
    query.limit_clause.is_none()
        && query.fetch.is_none()
        && select.selection.is_none()
        && select.having.is_none()
        && select.top.is_none()
        && from.joins.is_empty()
        && table_name(&from.relation).as_deref() == table
        && table.is_some()
}

fn table_name(table: &TableFactor) -> Option<String> {
    match table {
        TableFactor::Table { name, .. } => Some(name.to_string().to_lowercase()),
        _ => None,
    }
}
