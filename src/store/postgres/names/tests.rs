use super::*;

fn found(sql: &str) -> Vec<(NameRole, String)> {
    let all = names(sql, Fragment::Whole).expect("names");
    let full = |name: &Name| match &name.schema {
        Some(schema) => format!("{schema}.{}", name.name),
        None => name.name.clone(),
    };
    all.iter().map(|name| (name.role, full(name))).collect()
}

fn of(role: NameRole, sql: &str) -> Vec<String> {
    found(sql).into_iter().filter(|(it, _)| *it == role).map(|(_, name)| name).collect()
}

#[test]
fn tables_are_found_wherever_one_can_stand() {
    for (sql, tables) in [
        ("EXISTS (SELECT 1 FROM jobs j WHERE j.id = c.id)", "jobs"),
        ("(SELECT 1 FROM a, b x, ONLY c JOIN d ON true, e)", "a b c d e"),
        ("(SELECT 1 FROM (a JOIN b USING (x)), LATERAL (SELECT y, z FROM f) q)", "a b f"),
        ("INSERT INTO log (a, b) SELECT x, y FROM src ON CONFLICT DO UPDATE SET a = 1", "log src"),
        ("UPDATE ONLY jobs SET a = 1, b = 2 FROM other WHERE true", "jobs other"),
        ("DELETE FROM jobs USING a, b WHERE jobs.id = a.id RETURNING id, x", "jobs a b"),
        ("MERGE INTO t USING s ON true WHEN MATCHED THEN UPDATE SET x = 1", "t s"),
        ("WITH x AS (SELECT 1 FROM a), y(n) AS MATERIALIZED (SELECT 2) SELECT 1 FROM x, y, z", "a z"),
        ("(TABLE jobs)", "jobs"),
        ("(SELECT 1 FROM s.jobs, \"Odd Schema\".\"Jobs\")", "s.jobs Odd Schema.Jobs"),
        ("(SELECT 1 FROM jobs FOR UPDATE OF jobs)", "jobs"),
    ] {
        assert_eq!(of(NameRole::Table, sql).join(" "), tables, "{sql}");
    }
}

#[test]
fn what_only_looks_like_a_table_is_none() {
    for sql in [
        "extract(epoch FROM tasks)",
        "substring(tasks FROM '[0-9]+')",
        "a IS DISTINCT FROM tasks",
        "a IS NOT DISTINCT FROM tasks",
        "'SELECT 1 FROM tasks'",
        "$$ FROM tasks $$",
        "/* FROM tasks */ 1 -- FROM tasks",
        "ROW(a, b)",
        "(SELECT 1 FROM unnest(a, b) AS t(x, y))",
    ] {
        assert_eq!(of(NameRole::Table, sql), Vec::<String>::new(), "{sql}");
    }
}

#[test]
fn functions_are_found_in_every_notation() {
    for (sql, functions) in [
        ("pg_notify('a', 'b')", "pg_notify"),
        ("PG_Notify ('a', 'b')", "pg_notify"),
        ("\"pg_notify\"('a', 'b')", "pg_notify"),
        ("pg_catalog . pg_notify /* x */ ('a', 'b')", "pg_catalog.pg_notify"),
        ("(SELECT 1 FROM dblink('x') AS t(a int))", "dblink t"),
        ("app.priority_of(c.id) + 1", "app.priority_of"),
        ("1 + pg_sleep(1)", "pg_sleep"),
        ("'a'||pg_sleep(1)", "pg_sleep"),
        ("1pg_sleep(1)", "pg_sleep"),
        ("a[1:pg_sleep(1)]", "pg_sleep"),
        ("pg_sleep\n--\n(1)", "pg_sleep"),
        ("e'a' || pg_sleep(1) || ''", "pg_sleep"),
        ("$\u{b7}$ ' $\u{b7}$ || pg_sleep(1) || ''", "pg_sleep"),
    ] {
        assert_eq!(of(NameRole::Function, sql).join(" "), functions, "{sql}");
    }
    for sql in ["c.pg_sleep", "(1.0::float8).pg_sleep", "(a[1]).pg_sleep", "a[1].pg_sleep"] {
        assert_eq!(of(NameRole::Attribute, sql), ["pg_sleep"], "{sql}");
    }
}

#[test]
fn operators_and_types_are_found_with_their_schemas() {
    assert_eq!(of(NameRole::Operator, "a OPERATOR(public.||) b"), ["public.||"]);
    assert_eq!(of(NameRole::Operator, "a operator ( \"p\" . + ) b"), ["p.+"]);
    assert_eq!(
        of(NameRole::Type, "a::mood, CAST(a AS public.mood), public.mood 'x', a::s.mood[]").join(" "),
        "mood public.mood public.mood s.mood"
    );
    assert_eq!(of(NameRole::Type, "(SELECT a AS b FROM x)"), Vec::<String>::new());
}

#[test]
fn what_cannot_be_read_for_certain_is_an_error() {
    for sql in ["U&\"d\\0061t\"(1)", "u&'x'", "'open", "\"open", "/* open", "$a$ open", "e'a'\n'\\' || f('"] {
        assert!(names(sql, Fragment::Whole).is_err(), "{sql}");
    }
    for sql in ["", "ü.ö", "a $1 b :now", "))) ((", "e'it\\'s'", "1e5 1.5 .5", "\u{feff}x\u{0}"] {
        assert!(names(sql, Fragment::Whole).is_ok(), "{sql}");
    }
}

#[test]
fn joins_go_on_where_a_table_was() {
    let all = names("JOIN types t ON t.id = c.type, more", Fragment::Joins).expect("names");
    let tables = all.iter().filter(|name| name.role == NameRole::Table).map(|name| name.name.as_str());
    assert_eq!(tables.collect::<Vec<_>>(), ["types", "more"]);
}

#[test]
fn names_are_replaced_where_they_stand() {
    let sql = "(SELECT 1 FROM a JOIN b ON a.x = b.x)";
    let all = names(sql, Fragment::Whole).expect("names");
    let changes = all
        .into_iter()
        .filter(|name| name.role == NameRole::Table)
        .map(|name| (name.at.clone(), format!("\"s\".\"{}\"", name.name)));
    assert_eq!(
        rewritten(sql, changes.collect()),
        "(SELECT 1 FROM \"s\".\"a\" JOIN \"s\".\"b\" ON a.x = b.x)"
    );
}
