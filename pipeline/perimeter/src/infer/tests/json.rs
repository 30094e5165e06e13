//! JSON: lines, one array, nesting, what is mixed.
use super::*;

#[test]
fn lines_with_nulls_and_missing_keys() {
    let bench = Bench::new();
    let proposal = bench.accepted(
        "in.json",
        "{\"id\": 1, \"name\": \"x\", \"on\": true, \"at\": \"2026-01-31\", \"zip\": \"01310\"}\n\n{\"name\": null, \"id\": 2, \"on\": false, \"amount\": 1.50}\n",
    );
    assert_eq!(columns(&proposal), ["id: bigint!", "name: string", "on: boolean!", "at: date iso", "zip: string", "amount: decimal(18,2)"]);
    assert!(!proposal.source_line.contains("options"), "{}", proposal.source_line);
}

#[test]
fn one_array() {
    let bench = Bench::new();
    let proposal = bench.accepted("in.json", " [{\"a\": 1},\n {\"a\": 2, \"b\": \"x\"}]\n");
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.rows), ("a: bigint!, b: string", 2));
    assert!(proposal.source_line.contains("layout: array"), "{}", proposal.source_line);
}

#[test]
fn objects_and_arrays() {
    let bench = Bench::new();
    let text = r#"{"id": 1, "holder": {"name": "x", "born": "31/01/1990", "address": {"zip": "01"}}, "tags": ["a", "b"], "guarantors": [{"name": "y", "limit": 2.5}]}
{"id": 2, "holder": {"name": "z", "born": "28/02/1991"}, "tags": [], "guarantors": [{"name": null}, {"name": "v", "limit": 3}]}
"#;
    let proposal = bench.accepted("in.jsonl", text);
    assert_eq!(
        columns(&proposal),
        [
            "id: bigint!",
            "holder.name: string!",
            "holder.born: date dd/MM/yyyy!",
            "holder.address.zip: string",
            "tags: [string]!",
            "guarantors.name: [string]",
            "guarantors.limit: [decimal(18,1)]",
        ]
    );
}

#[test]
fn values_of_several_kinds_are_for_a_person() {
    let bench = Bench::new();
    let path = bench.write("in.json", "{\"a\": 1, \"b\": 1, \"c\": 1}\n{\"a\": \"x\", \"b\": 1.5, \"c\": {\"d\": 1}}\n{\"a\": true, \"b\": 1e300, \"c\": 3}\n");
    let proposal = bench.infer(&path).unwrap();
    assert_eq!(columns(&proposal), ["a: string!", "b: double!", "c: bigint"]);
    assert!(proposal.yaml.contains("# decide: 1 text and 1 number and 1 boolean stand here: 33.3 % are of this kind"), "{}", proposal.yaml);
    assert!(proposal.yaml.contains("# decide: some records have something else at this place"), "{}", proposal.yaml);
    // What the comments say of the records comes true, and no record is lost without a count.
    assert_eq!(proposal.unreadable.keys().collect::<Vec<_>>(), ["a.type", "c.type"]);
    let tally = bench.check(&proposal);
    assert_eq!((tally.rows_read, tally.rows_rejected), (3, 3));
}

#[test]
fn a_place_is_what_most_records_have_there() {
    for (records, wanted) in [
        (vec![r#"{"k": 1, "a": null}"#, r#"{"a": [1]}"#], vec!["k: bigint", "a: [bigint]"]),
        (vec![r#"{"a": null}"#, r#"{"a": {"b": 1}}"#], vec!["a.b: bigint"]),
        (vec![r#"{"a": [{"b": 1}]}"#, r#"{"a": {"c": 1}}"#, r#"{"a": {"c": 2}}"#], vec!["a.c: bigint"]),
        (vec![r#"{"a": [{"b": 1}, 2]}"#, r#"{"a": [{"b": 1}]}"#], vec!["a.b: [bigint]"]),
        (vec![r#"{"a": {"b": {"c": 1}}}"#, r#"{"a": {"b": 2}}"#, r#"{"a": {"b": 3}}"#], vec!["a.b: bigint!"]),
        (vec![r#"{"a": {"b": 1}}"#, r#"{"a": "x"}"#, r#"{"a": "y"}"#], vec!["a: string!"]),
    ] {
        let bench = Bench::new();
        let path = bench.write("in.json", records.join("\n"));
        let proposal = bench.infer(&path).unwrap();
        let optional: Vec<String> = columns(&proposal).iter().map(|said| said.trim_end_matches('!').to_owned()).collect();
        let wanted: Vec<&str> = wanted.iter().map(|said| said.trim_end_matches('!')).collect();
        assert_eq!(optional, wanted, "{records:?}");
        assert_eq!(bench.check(&proposal).rows_read, records.len() as u64);
    }
}

#[test]
fn what_no_contract_can_say_is_named_and_not_read() {
    let bench = Bench::new();
    let proposal = bench.accepted("in.json", "{\"a\": 1, \"grid\": [[1, 2], [3]], \"nothing\": {}, \"none\": []}\n");
    assert_eq!(columns(&proposal), ["a: bigint!"]);
    assert!(proposal.yaml.contains("# decide: not read, because no contract can say what they are: grid, none, nothing"), "{}", proposal.yaml);
    assert!(proposal.source_line.contains("drift: allowAdded"), "{}", proposal.source_line);
    let path = bench.write("in.json", "{\"nothing\": {}}\n");
    let (code, exit, _) = refusal(bench.infer(&path));
    assert_eq!((code.as_str(), exit), ("nothing-readable", 2));
}

#[test]
fn keys_that_are_values_are_not_columns() {
    let bench = Bench::new();
    let text = "{\"n\": 1, \"accounts\": {\"39053344705\": {\"open\": true}, \"52998224725\": [1, \"x\"]}, \"2026-01-31\": 2}\n";
    let proposal = bench.accepted("in.json", text);
    assert_eq!(columns(&proposal), ["n: bigint!"]);
    assert!(proposal.yaml.contains("what they are: \"*\", \"accounts.*\""), "{}", proposal.yaml);
    assert!(!proposal.yaml.contains("39053344705") && !proposal.yaml.contains("2026-01-31"), "{}", proposal.yaml);
    let keys: Vec<String> = (0..5_000).map(|at| format!("\"client_{}\": 1", "x".repeat(at % 7) + &at.to_string())).collect();
    let proposal = bench.accepted("in.json", format!("{{{}}}\n", keys.join(", ")));
    assert!(proposal.source.schema.columns.len() <= 2_000);
}

#[test]
fn records_that_are_no_json_are_counted() {
    let bench = Bench::new();
    let path = bench.write("in.json", "{\"a\": 1}\n{\"a\": \n[1]\n{\"a\": 2, \"a\": 3}\n{\"a\": 4}\n");
    let proposal = bench.infer(&path).unwrap();
    assert_eq!(columns(&proposal), ["a: bigint!"]);
    assert_eq!((proposal.rows, proposal.unreadable.values().sum::<u64>()), (5, 3), "{:?}", proposal.unreadable);
    assert_eq!(bench.check(&proposal).rows_rejected, 3);
}

#[test]
fn keys_of_all_files_are_columns() {
    let bench = Bench::new();
    let (one, two) = (bench.write("one.json", "{\"a\": 1}\n"), bench.write("two.json", "{\"b\": \"x\"}\n{\"a\": 3}\n"));
    let proposal = bench.accepts(&asked(&[&one, &two]));
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.rows), ("a: bigint, b: string", 3));
}

#[test]
fn other_encodings() {
    let bench = Bench::new();
    let text = "{\"nome\": \"João\"}\n{\"nome\": \"Ana\"}\n";
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap()).collect();
    let path = bench.write("in.json", bytes);
    let proposal = bench.accepts(&Request { encoding: Some(Encoding::Latin1), ..asked(&[&path]) });
    assert_eq!(columns(&proposal), ["nome: string!"]);
    let bytes: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let proposal = bench.accepted("in.json", bytes);
    assert!(proposal.source_line.contains("encoding: utf-16"), "{}", proposal.source_line);
}

#[test]
fn a_column_is_what_most_of_its_values_are() {
    let bench = Bench::new();
    let record = |at: u32| format!("{{\"open\": {}, \"amount\": {at}.25, \"n\": {at}, \"day\": \"2026-01-{:02}\"}}\n", at.is_multiple_of(2), at % 28 + 1);
    let odd = "{\"open\": \"yes\", \"amount\": \"unknown\", \"n\": \"x\", \"day\": 7}\n";
    let path = bench.write("in.json", (0..20).map(record).collect::<String>() + odd);
    let proposal = bench.infer(&path).unwrap();
    assert_eq!(columns(&proposal), ["open: boolean!", "amount: decimal(18,2)!", "n: bigint!", "day: date iso!"]);
    assert!(
        proposal.yaml.contains("# decide: 1 text and 20 booleans stand here: 95.2 % are of this kind, and what is of another is rejected"),
        "{}",
        proposal.yaml
    );
    // One record breaks four rules.
    assert_eq!((proposal.rejected, proposal.unreadable.values().sum::<u64>()), (1, 4));
    assert!(proposal.yaml.contains("# decide: rejected with this contract: 1 record, by rule: amount.type 1"), "{}", proposal.yaml);
    assert_eq!(bench.check(&proposal).rows_rejected, 1);
}

#[test]
fn booleans_are_counted_like_other_values() {
    let bench = Bench::new();
    let proposal = bench.accepted("in.json", "{\"a\": true, \"b\": false}\n{\"a\": false, \"b\": false}\n{\"a\": true, \"b\": false}\n");
    assert!(proposal.yaml.contains("# 3 values, none null, 2 distinct") && proposal.yaml.contains("# 3 values, none null, 1 distinct"), "{}", proposal.yaml);
}

#[test]
fn one_object_over_several_lines_is_said_to_be_one() {
    let bench = Bench::new();
    for text in ["{\n  \"records\": [\n    {\"a\": 1}\n  ]\n}\n", "{\"secret\": 1,\n\"b\": 2}"] {
        let path = bench.write("in.json", text);
        let (code, exit, message) = refusal(bench.infer(&path));
        assert_eq!((code.as_str(), exit), ("json-layout", 2), "{message}");
        assert!(message.contains("in.json is one JSON object over several lines") && !message.contains("secret"), "{message}");
    }
    // Neither is one object: the first is none at all, the second is several.
    for text in ["{\"nothing\"\n", "{}\n{}\n"] {
        let path = bench.write("in.json", text);
        assert_eq!(refusal(bench.infer(&path)).0, "nothing-readable", "{text}");
    }
}
