//! Judging statements, and whatever stands inside them.

use std::ops::ControlFlow;
use std::ptr;

use sqlparser::ast::{
    CopySource, Expr, Function, FunctionArg, FunctionArgExpr, ObjectName, ObjectNamePart, Query, SetExpr, Statement,
    TableFactor, TableObject, Value, Visit, Visitor, With,
};

use crate::class::{Class, Deed};
use crate::rules::Rules;
use crate::statement::{call_deed, deed, function_deed};

/// Why the statements of one string are refused, if they are.
pub(crate) fn judge(rules: &Rules, statements: &[Statement]) -> Option<String> {
    let mut walk = Walk { rules, scopes: Vec::new(), explained: 0 };
    let walked = statements.iter().try_for_each(|statement| statement.visit(&mut walk));
    let refused = walked.break_value().map(|refused| *refused);
    refused.or_else(|| {
        let is_stack = statements.len() > 1 && !is_script(statements);
        let deed = Deed::new(Class::Several, "it has several statements, and begins with none that defines something");
        if is_stack { rules.refuse(deed) } else { None }
    })
}

/// Several statements that begin with a definition, a transaction or a setting are a script. What each does is judged by itself,
/// and nobody puts one behind a query that a tool has begun.
fn is_script(statements: &[Statement]) -> bool {
    let begins = |first: &Statement| {
        matches!(first, Statement::StartTransaction { .. } | Statement::Set(_)) || deed(first).class == Class::Define
    };
    statements.first().is_some_and(begins)
}

/// One `WITH`, and how far the walk through it is.
struct Scope {
    names: Vec<String>,
    /// Where their queries are, to tell them from others.
    queries: Vec<*const Query>,
    is_recursive: bool,
    /// How many of the names are visible.
    visible: usize,
    of: *const Query,
}

struct Walk<'a> {
    rules: &'a Rules,
    scopes: Vec<Scope>,
    /// In how many statements the walk is that are explained and not run.
    explained: usize,
}

/// Boxed, because a walk that is deep returns it often.
type Refused = Box<String>;

impl Walk<'_> {
    fn refuse(&self, deed: Deed) -> ControlFlow<Refused> {
        // What is only explained is not done.
        if self.explained > 0 && matches!(deed.class, Class::Write | Class::Unbounded | Class::Destroy | Class::Define)
        {
            return ControlFlow::Continue(());
        }
        self.rules.refuse(deed).map_or(ControlFlow::Continue(()), |why| ControlFlow::Break(Box::new(why)))
    }

    fn table(&self, name: &ObjectName) -> ControlFlow<Refused> {
        if is_file(name) {
            self.refuse(Deed::new(Class::File, "it reads a file as a table"))?;
        }
        if self.is_local(name) {
            return ControlFlow::Continue(());
        }
        let why = self.rules.tables.refuse(name).map(|why| format!("SQL is refused: {why}"));
        why.map_or(ControlFlow::Continue(()), |why| ControlFlow::Break(Box::new(why)))
    }

    fn tables<'a>(&self, names: impl IntoIterator<Item = &'a ObjectName>) -> ControlFlow<Refused> {
        names.into_iter().try_for_each(|name| self.table(name))
    }

    /// Whether the name is one that a `WITH` around it gives to a query.
    fn is_local(&self, name: &ObjectName) -> bool {
        let [ObjectNamePart::Identifier(only)] = name.0.as_slice() else { return false };
        let name = only.value.to_lowercase();
        self.scopes.iter().any(|scope| scope.names.iter().take(scope.visible).any(|local| *local == name))
    }

    /// The tables that a statement names outside what a walk takes for a table.
    fn named_by(&self, statement: &Statement) -> ControlFlow<Refused> {
        match statement {
            Statement::Drop { names, table, .. } => self.tables(names.iter().chain(table)),
            Statement::Copy { source: CopySource::Table { table_name, .. }, .. }
            | Statement::LoadData { table_name, .. }
            | Statement::OptimizeTable { name: table_name, .. } => self.table(table_name),
            Statement::ShowCreate { obj_name, .. } => self.table(obj_name),
            Statement::RenameTable(renames) => self.tables(renames.iter().map(|rename| &rename.old_name)),
            Statement::CreateTrigger(trigger) => self.table(&trigger.table_name),
            Statement::CreateTable(table) => {
                self.tables(table.clone.iter().chain(table.inherits.iter().flatten()))?;
                match &table.like {
                    Some(
                        sqlparser::ast::CreateTableLikeKind::Parenthesized(like)
                        | sqlparser::ast::CreateTableLikeKind::Plain(like),
                    ) => self.table(&like.name),
                    None => ControlFlow::Continue(()),
                }
            }
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::CreateView(_)
            | Statement::CreateIndex(_)
            | Statement::AlterTable(_)
            | Statement::Truncate(_)
            | Statement::Explain { .. }
            | Statement::ExplainTable { .. }
            | Statement::Analyze(_)
            | Statement::Copy { .. } => ControlFlow::Continue(()),
            // What is left names a table in ways that nothing here reads, or none at all.
            other if self.rules.tables.are_listed() && !matches!(deed(other).class, Class::Read | Class::Session) => {
                let why = "SQL is refused: the policy lists tables, and this statement's are not known here";
                ControlFlow::Break(Box::new(why.to_owned()))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// `TABLE name`, which is a query.
    fn table_commands(&self, body: &SetExpr) -> ControlFlow<Refused> {
        let mut bodies = vec![body];
        while let Some(body) = bodies.pop() {
            match body {
                SetExpr::SetOperation { left, right, .. } => bodies.extend([left.as_ref(), right.as_ref()]),
                SetExpr::Table(table) => {
                    let names = table.schema_name.iter().chain(&table.table_name).cloned();
                    self.table(&ObjectName::from(names.collect::<Vec<_>>()))?;
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn enter(&mut self, query: &Query) {
        if let Some(with) = &query.with {
            self.scopes.push(Scope::new(with, query));
        }
        // The query of a name sees the names before it, and itself where that is said.
        if let Some(scope) =
            self.scopes.iter_mut().rev().find(|scope| scope.queries.iter().any(|own| ptr::eq(*own, query)))
            && scope.is_recursive
        {
            scope.visible += 1;
        }
    }

    fn leave(&mut self, query: &Query) {
        if self.scopes.last().is_some_and(|scope| ptr::eq(scope.of, query)) {
            self.scopes.pop();
        }
        if let Some(scope) =
            self.scopes.iter_mut().rev().find(|scope| scope.queries.iter().any(|own| ptr::eq(*own, query)))
            && !scope.is_recursive
        {
            scope.visible += 1;
        }
    }
}

impl Scope {
    fn new(with: &With, query: &Query) -> Self {
        Self {
            names: with.cte_tables.iter().map(|cte| cte.alias.name.value.to_lowercase()).collect(),
            queries: with.cte_tables.iter().map(|cte| ptr::from_ref(cte.query.as_ref())).collect(),
            is_recursive: with.recursive,
            visible: 0,
            of: query,
        }
    }
}

impl Visitor for Walk<'_> {
    type Break = Refused;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Refused> {
        self.refuse(deed(statement))?;
        if let Statement::Insert(insert) = statement
            && let Some(deed) = inserted_function(&insert.table).and_then(|name| function_deed(name, true))
        {
            self.refuse(deed)?;
        }
        if is_explained(statement) {
            self.explained += 1;
        }
        self.named_by(statement)
    }

    fn post_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Refused> {
        if is_explained(statement) {
            self.explained = self.explained.saturating_sub(1);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Refused> {
        self.enter(query);
        if query.with.is_none() {
            return self.table_commands(&query.body);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Refused> {
        // Only now are all names of its `WITH` visible.
        if query.with.is_some() {
            self.table_commands(&query.body)?;
        }
        self.leave(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &sqlparser::ast::Select) -> ControlFlow<Refused> {
        let Some(into) = &select.into else { return ControlFlow::Continue(()) };
        let is_variable = |target: &Expr| target.to_string().starts_with(['@', ':']);
        if into.targets.iter().all(is_variable) {
            return ControlFlow::Continue(());
        }
        self.refuse(Deed::new(Class::Define, "it creates a table"))?;
        into.targets.iter().try_for_each(|target| match target {
            Expr::Identifier(name) => self.table(&ObjectName::from(vec![name.clone()])),
            Expr::CompoundIdentifier(names) => self.table(&ObjectName::from(names.clone())),
            _ => ControlFlow::Continue(()),
        })
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Refused> {
        self.table(relation)
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<Refused> {
        let (name, first) = match table {
            TableFactor::Table { name, args: Some(args), .. } => (name, args.args.first()),
            TableFactor::Function { name, args, .. } => (name, args.first()),
            TableFactor::TableFunction { expr: Expr::Function(Function { name, .. }), .. } => (name, None),
            TableFactor::SemanticView { name, .. } => return self.table(name),
            _ => return ControlFlow::Continue(()),
        };
        if reads_data_files(name) && first.and_then(literal).is_some_and(is_data_file) {
            return ControlFlow::Continue(());
        }
        function_deed(name, true).map_or(ControlFlow::Continue(()), |deed| self.refuse(deed))
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Refused> {
        if let Expr::In { target: sqlparser::ast::InTarget::Table { name, .. }, .. } = expression {
            self.table(name)?;
        }
        call_deed(expression).map_or(ControlFlow::Continue(()), |deed| self.refuse(deed))
    }
}

/// `EXPLAIN` without `ANALYZE`, which runs what it explains.
fn is_explained(statement: &Statement) -> bool {
    match statement {
        Statement::Explain { analyze, options, .. } => {
            let runs = options.iter().flatten().any(|option| option.name.value.eq_ignore_ascii_case("analyze"));
            !analyze && !runs
        }
        _ => false,
    }
}

/// A name that is a file: in quotes for a text, or with a slash or the ending of a file in it.
fn is_file(name: &ObjectName) -> bool {
    let [ObjectNamePart::Identifier(only)] = name.0.as_slice() else { return false };
    let lower = only.value.to_lowercase();
    let has_ending = [".csv", ".parquet", ".json", ".jsonl", ".ndjson", ".txt", ".tsv", ".db", ".sqlite", ".xlsx"]
        .iter()
        .any(|ending| lower.trim_end_matches(".gz").ends_with(ending));
    let is_named = only.quote_style == Some('\'')
        || (only.quote_style.is_some() && (has_ending || only.value.contains(['/', '\\'])));
    is_named && !(has_ending && is_data_file(&only.value))
}

/// Functions of databases that work on files of data, and stand for a table.
fn reads_data_files(name: &ObjectName) -> bool {
    let name = name.to_string().to_lowercase();
    name.starts_with("read_") || matches!(name.as_str(), "parquet_scan" | "sniff_csv" | "delta_scan" | "iceberg_scan")
}

/// A file of data in the folder that the database works in, or one that everybody can fetch. One with a path from the root, or
/// out of its folder, is whatever the server may read.
fn is_data_file(name: &str) -> bool {
    let is_below =
        !name.starts_with(['/', '~', '\\']) && !name.contains(':') && !name.split(['/', '\\']).any(|step| step == "..");
    is_below || name.starts_with("https://")
}

/// An argument that is a text.
fn literal(argument: &FunctionArg) -> Option<&str> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The function that an insert goes into, such as a file.
fn inserted_function(table: &TableObject) -> Option<&ObjectName> {
    match table {
        TableObject::TableFunction(function) => Some(&function.name),
        _ => None,
    }
}
