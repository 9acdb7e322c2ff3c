//! What a statement does, by its kind.

use sqlparser::ast::{
    Action, AlterTableOperation, ContextModifier, CopySource, CopyTarget, CreateFunction, CreateTable, DropBehavior,
    Expr, Grant, Grantee, GranteeName, Ident, ObjectName, ObjectType, Privileges, Query, ReferentialAction, Set,
    SetExpr, Statement, Use,
};

use crate::class::{Class, Deed};
use crate::condition::{is_unbounded_delete, is_unbounded_merge, is_unbounded_update};

/// Extensions of PostgreSQL that open files, other servers, or languages without limits.
const OPEN_EXTENSIONS: &[&str] = &[
    "file_fdw",
    "dblink",
    "postgres_fdw",
    "mysql_fdw",
    "oracle_fdw",
    "tds_fdw",
    "adminpack",
    "plpython3u",
    "plpythonu",
    "plpython2u",
    "plperlu",
    "pltclu",
    "plsh",
    "pljava",
    "http",
    "pg_cron",
];
/// Languages that a database keeps in bounds.
const BOUNDED_LANGUAGES: &[&str] = &["sql", "plpgsql", "plperl", "pltcl", "javascript", "plv8"];
/// Virtual tables of `SQLite` that are files.
const FILE_MODULES: &[&str] = &["csv", "zipfile", "fsdir", "vsv", "sqlite_dbpage", "dbstat"];
/// Settings that switch a guard of the database off.
const GUARDING_SETTINGS: &[&str] = &[
    "session_replication_role",
    "role",
    "session_authorization",
    "sql_log_bin",
    "password",
    "writable_schema",
    "trusted_schema",
    "row_security",
    "general_log",
    "general_log_file",
    "local_infile",
    "secure_file_priv",
];

/// What the statement itself does; what stands inside it is judged by itself.
#[expect(clippy::too_many_lines, reason = "one line for each kind of statement")]
pub(crate) fn deed(statement: &Statement) -> Deed {
    use Class::{Control, Define, Destroy, File, Other, Program, Read, Session, Unbounded, Write};
    let is = Deed::new;
    match statement {
        Statement::Query(_)
        | Statement::Explain { .. }
        | Statement::ExplainTable { .. }
        | Statement::ShowFunctions { .. }
        | Statement::ShowVariable { .. }
        | Statement::ShowStatus { .. }
        | Statement::ShowVariables { .. }
        | Statement::ShowCreate { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowCatalogs { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ShowProcessList { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowCharset(_)
        | Statement::ShowObjects(_)
        | Statement::ShowTables { .. }
        | Statement::ShowViews { .. }
        | Statement::ShowCollation { .. }
        | Statement::Fetch { .. } => is(Read, "it reads"),

        Statement::Insert(insert) if insert.overwrite => is(Destroy, "it writes over a table"),
        Statement::Insert(_) => is(Write, "it inserts"),
        Statement::Update(update) if is_unbounded_update(update) => {
            is(Unbounded, "it updates every row; a condition on a column is missing")
        }
        Statement::Update(_) => is(Write, "it updates"),
        Statement::Delete(delete) if is_unbounded_delete(delete) => {
            is(Unbounded, "it deletes every row; a condition on a column is missing")
        }
        Statement::Delete(_) => is(Write, "it deletes"),
        Statement::Merge(merge) if is_unbounded_merge(merge) => is(Unbounded, "it merges on what is always true"),
        Statement::Merge(_) => is(Write, "it merges"),

        Statement::CreateTable(table) => create_table(table),
        Statement::CreateDatabase { or_replace: true, .. } | Statement::CreateSchema { or_replace: true, .. } => {
            is(Destroy, "it replaces a database")
        }
        Statement::CreateFunction(function) => create_function(function),
        Statement::CreateExtension(extension) if is_one_of(&extension.name, OPEN_EXTENSIONS) => {
            is(Program, "it loads an extension without limits")
        }
        Statement::CreateVirtualTable { module_name, .. } if is_one_of(module_name, FILE_MODULES) => {
            is(File, "it reads a file as a table")
        }
        Statement::CreateView(_)
        | Statement::CreateVirtualTable { .. }
        | Statement::CreateIndex(_)
        | Statement::CreateOperator(_)
        | Statement::CreateOperatorFamily(_)
        | Statement::CreateOperatorClass(_)
        | Statement::CreateTextSearch(_)
        | Statement::CreateAggregate(_)
        | Statement::CreateExtension(_)
        | Statement::CreateCollation(_)
        | Statement::CreateSchema { .. }
        | Statement::CreateDatabase { .. }
        | Statement::CreateTrigger(_)
        | Statement::CreateProcedure { .. }
        | Statement::CreateMacro { .. }
        | Statement::CreateSequence { .. }
        | Statement::CreateDomain(_)
        | Statement::CreateType { .. }
        | Statement::CreateRule(_)
        | Statement::AlterSchema(_)
        | Statement::AlterIndex { .. }
        | Statement::AlterView(_)
        | Statement::AlterFunction(_)
        | Statement::AlterType(_)
        | Statement::AlterCollation(_)
        | Statement::AlterOperator(_)
        | Statement::AlterOperatorFamily(_)
        | Statement::AlterOperatorClass(_)
        | Statement::AlterTextSearch(_)
        | Statement::AlterTrigger(_)
        | Statement::Comment { .. }
        | Statement::RenameTable(_) => is(Define, "it defines"),
        Statement::AlterTable(table) => {
            table.operations.iter().find_map(alter_table).unwrap_or(is(Define, "it alters a table"))
        }

        Statement::Truncate(_) => is(Destroy, "it truncates a table"),
        Statement::Drop { object_type, cascade, temporary, .. } => drop_object(*object_type, *cascade, *temporary),
        Statement::DropFunction(function) => drop_definition(function.drop_behavior.as_ref()),
        Statement::DropProcedure { drop_behavior, .. } => drop_definition(drop_behavior.as_ref()),
        Statement::DropDomain(domain) => drop_definition(domain.drop_behavior.as_ref()),
        Statement::DropExtension(extension) => match extension.cascade_or_restrict {
            Some(ReferentialAction::Cascade) => is(Destroy, "it drops whatever depends on an extension"),
            _ => is(Define, "it drops an extension"),
        },
        Statement::DropTrigger(_)
        | Statement::DropRule(_)
        | Statement::DropOperator(_)
        | Statement::DropOperatorFamily(_)
        | Statement::DropOperatorClass(_)
        | Statement::DropConnector { .. } => is(Define, "it drops a definition"),

        Statement::Grant(grant) if only_reads(grant) => is(Define, "it lets a role read"),
        Statement::Grant(_)
        | Statement::GrantRole(_)
        | Statement::Deny(_)
        | Statement::Revoke(_)
        | Statement::RevokeRole(_)
        | Statement::AlterDefaultPrivileges(_) => is(Control, "it changes who may do what"),
        Statement::CreateRole(_)
        | Statement::CreateUser(_)
        | Statement::AlterRole { .. }
        | Statement::AlterUser(_)
        | Statement::CreateUserMapping(_)
        | Statement::CreatePolicy(_)
        | Statement::AlterPolicy(_)
        | Statement::DropPolicy(_)
        | Statement::CreateSecret { .. }
        | Statement::DropSecret { .. } => is(Control, "it changes roles, policies or secrets"),
        Statement::Kill { .. } => is(Control, "it ends somebody's connection"),
        Statement::Set(set) => set_deed(set),
        Statement::Use(Use::Role(_) | Use::SecondaryRoles(_)) => is(Control, "it changes the role"),
        Statement::Pragma { name, .. } if sets_guard(name) => is(Control, "it switches a guard of the database off"),

        Statement::Copy { source, to, target, .. } => copy(source, *to, target),
        Statement::CopyIntoSnowflake { .. }
        | Statement::Directory { .. }
        | Statement::Unload { .. }
        | Statement::LoadData { .. }
        | Statement::Put { .. }
        | Statement::Remove(_)
        | Statement::List(_)
        | Statement::ExportData(_)
        | Statement::CreateStage { .. }
        | Statement::CreateFileFormat { .. } => is(File, "it reads or writes files of the server"),
        Statement::AttachDatabase { .. } | Statement::AttachDuckDBDatabase { .. } => {
            is(File, "it opens another database's file")
        }
        Statement::CreateServer(_)
        | Statement::CreateForeignTable(_)
        | Statement::CreateForeignDataWrapper(_)
        | Statement::CreateConnector(_)
        | Statement::AlterConnector { .. } => is(File, "it reaches another server"),

        Statement::Execute { name: Some(name), immediate: false, .. } if describes(name) => is(Read, "it reads"),
        Statement::Call(_) | Statement::Execute { .. } => is(Program, "it runs what nobody sees here"),
        Statement::Load { .. } | Statement::Install { .. } => is(Program, "it loads an extension"),

        Statement::StartTransaction { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint { .. }
        | Statement::ReleaseSavepoint { .. }
        | Statement::Use(_)
        | Statement::Pragma { .. }
        | Statement::Prepare { .. }
        | Statement::Deallocate { .. }
        | Statement::Declare { .. }
        | Statement::Open(_)
        | Statement::Close { .. }
        | Statement::Discard { .. }
        | Statement::Reset(_)
        | Statement::AlterSession { .. }
        | Statement::DetachDuckDBDatabase { .. }
        | Statement::LISTEN { .. }
        | Statement::UNLISTEN { .. }
        | Statement::NOTIFY { .. }
        | Statement::LockTables { .. }
        | Statement::UnlockTables
        | Statement::Analyze(_)
        | Statement::OptimizeTable { .. }
        | Statement::RefreshMaterializedView(_)
        | Statement::Vacuum(_)
        | Statement::Msck(_)
        | Statement::Cache { .. }
        | Statement::UNCache { .. }
        | Statement::Print(_)
        | Statement::Return(_)
        | Statement::Case(_)
        | Statement::If(_)
        | Statement::While(_) => is(Session, "it concerns the session"),

        _ => is(Other, "it is no statement that this guard knows"),
    }
}

fn is_one_of(name: &Ident, names: &[&str]) -> bool {
    names.iter().any(|known| name.value.eq_ignore_ascii_case(known))
}

fn create_table(table: &CreateTable) -> Deed {
    // One that is made anew from other tables, as every night, and not emptied.
    let is_rebuilt = table.query.as_deref().is_some_and(reads_tables);
    if table.or_replace && !is_rebuilt {
        Deed::new(Class::Destroy, "it replaces a table")
    } else if table.external || table.location.is_some() {
        Deed::new(Class::File, "it makes a table of files")
    } else {
        Deed::new(Class::Define, "it creates a table")
    }
}

fn reads_tables(query: &Query) -> bool {
    matches!(query.body.as_ref(), SetExpr::Select(select) if !select.from.is_empty())
}

/// Whether somebody who has a name is given what changes nothing.
fn only_reads(grant: &Grant) -> bool {
    let is_reading = |action: &Action| matches!(action, Action::Select { .. } | Action::Usage | Action::Connect);
    let is_named = |grantee: &Grantee| match &grantee.name {
        Some(GranteeName::ObjectName(name)) => !name.to_string().trim_matches('"').eq_ignore_ascii_case("public"),
        Some(GranteeName::UserHost { user, .. }) => !user.value.is_empty(),
        None => false,
    };
    let privileges = match &grant.privileges {
        Privileges::Actions(actions) => actions.iter().all(is_reading),
        Privileges::All { .. } => false,
    };
    privileges && !grant.with_grant_option && grant.grantees.iter().all(is_named)
}

/// Procedures of SQL Server that describe what there is.
fn describes(name: &ObjectName) -> bool {
    const DESCRIBING: &[&str] = &[
        "sp_help",
        "sp_helptext",
        "sp_helpindex",
        "sp_helpconstraint",
        "sp_helpdb",
        "sp_columns",
        "sp_tables",
        "sp_spaceused",
        "sp_who",
        "sp_who2",
        "sp_depends",
        "sp_databases",
        "sp_pkeys",
        "sp_fkeys",
        "sp_lock",
        "sp_stored_procedures",
    ];
    let last = name.0.last().map(|last| last.to_string().trim_matches(['[', ']', '"']).to_lowercase());
    last.is_some_and(|last| DESCRIBING.contains(&last.as_str()))
}

fn create_function(function: &CreateFunction) -> Deed {
    let is_bounded = function.language.as_ref().is_none_or(|language| is_one_of(language, BOUNDED_LANGUAGES));
    if is_bounded && function.using.is_none() && function.remote_connection.is_none() {
        Deed::new(Class::Define, "it creates a function")
    } else {
        Deed::new(Class::Program, "it creates a function in a language without limits")
    }
}

fn alter_table(operation: &AlterTableOperation) -> Option<Deed> {
    match operation {
        AlterTableOperation::DropColumn { .. } => Some(Deed::new(Class::Destroy, "it drops a column")),
        AlterTableOperation::DropPartitions { .. } => Some(Deed::new(Class::Destroy, "it drops a partition")),
        AlterTableOperation::ClearProjection { .. } | AlterTableOperation::DropProjection { .. } => {
            Some(Deed::new(Class::Destroy, "it drops a projection"))
        }
        AlterTableOperation::DisableRowLevelSecurity | AlterTableOperation::NoForceRowLevelSecurity => {
            Some(Deed::new(Class::Control, "it switches a guard of the database off"))
        }
        AlterTableOperation::OwnerTo { .. } => Some(Deed::new(Class::Control, "it changes an owner")),
        _ => None,
    }
}

fn drop_object(object: ObjectType, cascade: bool, temporary: bool) -> Deed {
    match object {
        ObjectType::Role | ObjectType::User | ObjectType::Group => Deed::new(Class::Control, "it drops a role"),
        ObjectType::Table if temporary => Deed::new(Class::Define, "it drops a temporary table"),
        ObjectType::Table => Deed::new(Class::Destroy, "it drops a table"),
        ObjectType::Schema => Deed::new(Class::Destroy, "it drops a schema"),
        ObjectType::Database => Deed::new(Class::Destroy, "it drops a database"),
        ObjectType::Stage | ObjectType::Stream | ObjectType::Warehouse => {
            Deed::new(Class::Destroy, "it drops what holds data")
        }
        _ if cascade => Deed::new(Class::Destroy, "it drops whatever depends on something"),
        _ => Deed::new(Class::Define, "it drops a definition"),
    }
}

fn drop_definition(behavior: Option<&DropBehavior>) -> Deed {
    match behavior {
        Some(DropBehavior::Cascade) => Deed::new(Class::Destroy, "it drops whatever depends on something"),
        _ => Deed::new(Class::Define, "it drops a definition"),
    }
}

fn copy(source: &CopySource, to: bool, target: &CopyTarget) -> Deed {
    match (target, source) {
        (CopyTarget::Program { .. }, _) => Deed::new(Class::Program, "it runs a program of the server"),
        (CopyTarget::File { .. }, _) => Deed::new(Class::File, "it reads or writes files of the server"),
        _ if to => Deed::new(Class::Read, "it reads"),
        _ => Deed::new(Class::Write, "it inserts"),
    }
}

fn set_deed(set: &Set) -> Deed {
    let of_all = |scope: Option<&ContextModifier>| matches!(scope, Some(ContextModifier::Global));
    let is_control = match set {
        Set::SingleAssignment { scope, variable, .. } => of_all(scope.as_ref()) || sets_guard(variable),
        Set::ParenthesizedAssignments { variables, .. } => variables.iter().any(sets_guard),
        Set::MultipleAssignments { assignments } => {
            assignments.iter().any(|one| of_all(one.scope.as_ref()) || sets_guard(&one.name))
        }
        Set::SetSessionAuthorization(_) | Set::SetRole { .. } => true,
        _ => false,
    };
    if is_control {
        Deed::new(Class::Control, "it changes a role, or a setting that guards the database")
    } else {
        Deed::new(Class::Session, "it concerns the session")
    }
}

/// Whether a setting is one of those that guard the database, or of the whole server (`@@global.x`).
fn sets_guard(name: &ObjectName) -> bool {
    let parts: Vec<String> = name.0.iter().map(|part| part.to_string().trim_matches('"').to_lowercase()).collect();
    let is_global = parts.iter().any(|part| matches!(part.trim_start_matches('@'), "global" | "persist"));
    let last = parts.last().map(String::as_str).unwrap_or_default().trim_start_matches('@');
    is_global || GUARDING_SETTINGS.contains(&last)
}

/// What calling a function does, where it is more than to compute.
pub(crate) fn function_deed(name: &ObjectName, is_table: bool) -> Option<Deed> {
    let name = name.0.last()?.to_string().trim_matches(['"', '`', '[', ']']).to_lowercase();
    let name = name.as_str();
    let is_file = FILE_FUNCTIONS.contains(&name)
        || name.starts_with("read_")
        || (name.starts_with("pg_ls_") && name.ends_with("dir"))
        || (is_table && FILE_TABLES.contains(&name));
    if is_file {
        return Some(Deed::new(Class::File, "it reads or writes files, or another server, by a function"));
    }
    if PROGRAM_FUNCTIONS.contains(&name) || name.starts_with("xp_") || name.starts_with("sp_oa") {
        return Some(Deed::new(Class::Program, "it calls a function that runs something else"));
    }
    if CONTROL_FUNCTIONS.contains(&name) {
        return Some(Deed::new(Class::Control, "it calls a function that changes the server"));
    }
    None
}

const FILE_FUNCTIONS: &[&str] = &[
    "pg_read_file",
    "pg_read_binary_file",
    "pg_stat_file",
    "pg_file_write",
    "pg_file_read",
    "pg_file_rename",
    "pg_file_unlink",
    "pg_logdir_ls",
    "pg_current_logfile",
    "lo_import",
    "lo_export",
    "load_file",
    "readfile",
    "writefile",
    "fsdir",
    "edit",
    "parquet_scan",
    "sniff_csv",
    "sqlite_scan",
    "postgres_scan",
    "postgres_query",
    "mysql_scan",
    "mysql_query",
    "iceberg_scan",
    "delta_scan",
    "openrowset",
    "openquery",
    "opendatasource",
    "httpuritype",
];
/// Functions that are files where they stand for a table, and other things elsewhere.
const FILE_TABLES: &[&str] = &[
    "file",
    "url",
    "s3",
    "s3cluster",
    "gcs",
    "hdfs",
    "azureblobstorage",
    "remote",
    "remotesecure",
    "cluster",
    "mysql",
    "postgresql",
    "mongodb",
    "redis",
    "sqlite",
    "jdbc",
    "odbc",
    "executable",
    "glob",
    "input",
    "filecluster",
    "urlcluster",
];
const PROGRAM_FUNCTIONS: &[&str] = &[
    "load_extension",
    "sys_exec",
    "sys_eval",
    "sys_get",
    "sys_set",
    "dblink",
    "dblink_exec",
    "dblink_connect",
    "dblink_send_query",
    "query_to_xml",
    "query_to_xml_and_xmlschema",
    "query_to_xmlschema",
    "cursor_to_xml",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "sleep",
    "benchmark",
    "eval",
    "http_get",
    "http_post",
    "http",
];
const CONTROL_FUNCTIONS: &[&str] = &[
    "set_config",
    "pg_terminate_backend",
    "pg_cancel_backend",
    "pg_reload_conf",
    "pg_rotate_logfile",
    "pg_promote",
    "pg_switch_wal",
    "pg_create_restore_point",
    "lo_unlink",
];

/// The deed of a call in an expression.
pub(crate) fn call_deed(expression: &Expr) -> Option<Deed> {
    match expression {
        Expr::Function(function) => function_deed(&function.name, false),
        _ => None,
    }
}
