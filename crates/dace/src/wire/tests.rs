//! Tests of the fast parser against the JSON crate.

use proptest::prelude::*;

use super::document::Document;
use super::{Json, parse, scan};

fn reference(text: &[u8]) -> Option<Document<'static>> {
    let mut document = Document::default();
    document.push(serde_json::from_slice::<Json>(text).ok()?);
    Some(document)
}

/// The values in a form that compares borrowed and made texts alike.
fn shown(document: &Document<'_>) -> String {
    format!("{:?}", document.root().to_json())
}

/// The fast reader reads the same as the crate; returns whether it read the text.
fn agrees(text: &[u8]) -> bool {
    let Some(found) = scan::document(text) else { return false };
    let expected = reference(text).unwrap_or_else(|| panic!("no JSON: {:?}", String::from_utf8_lossy(text)));
    assert_eq!(shown(&found), shown(&expected), "{:?}", String::from_utf8_lossy(text));
    true
}

#[test]
fn usual_texts_are_read_fast() {
    for text in [
        "{}",
        " [ ] ",
        "{\n  \"a\": [1, -2, 0, 9223372036854775807, 1.5, 1e3, true, false, null],\n  \"b\": {\"c\": \"é\"}\n}\n",
        r#"{"a": "x\n\"\\\u00e9y", "b": ["12345678", "1234567890123456789"]}"#,
        "[18446744073709551615, 123456789012345678901234567890, -9223372036854775808, -0]",
    ] {
        assert!(agrees(text.as_bytes()), "{text}");
    }
}

#[test]
fn wrong_texts_are_left_to_the_crate() {
    let deep = "[".repeat(127) + &"]".repeat(127);
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\" 1}",
        "{\"a\": 1,}",
        "\"a",
        "\"\n\"",
        "01",
        "+1",
        "1.",
        "nul",
        "[1] 2",
        "\"\\x\"",
        "{1: 2}",
        &deep,
    ] {
        assert!(scan::document(text.as_bytes()).is_none(), "{text}");
    }
    assert!(scan::document(b"[\"\xff\"]").is_none());
    assert!(
        parse(deep.as_bytes()).is_ok() && parse(("[".repeat(200) + &"]".repeat(200)).as_bytes()).is_err()
    );
}

#[test]
fn the_last_of_repeated_keys_has_the_place_of_the_first() {
    let text = r#"{"a": 1, "b": 2, "a": 3}"#;
    assert!(scan::document(text.as_bytes()).is_none());
    let document = parse(text.as_bytes()).unwrap();
    assert_eq!(format!("{:?}", document.root().to_json()), r#"Object({"a": Integer(3), "b": Integer(2)})"#);
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Integer),
        any::<f64>().prop_map(Json::Float),
        ".{0,20}".prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::List),
            prop::collection::vec((".{0,9}", inner), 0..6)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn random_documents_are_read_alike(tree in json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), pretty in any::<bool>()) {
        let mut text = if pretty { super::to_bytes(&tree) } else { serde_json::to_vec(&tree).unwrap() };
        // Control characters and keys with escapes are left to the crate.
        agrees(&text);
        let at = at.index(text.len());
        text[at] = byte;
        agrees(&text);
        text.remove(at);
        agrees(&text);
    }
}

#[test]
fn signatures_tell_lists_apart() {
    let signature = |text: &str| {
        let document = scan::document(text.as_bytes()).unwrap();
        document.root().as_list().unwrap().signature()
    };
    let texts = [
        "[]",
        r#"["a"]"#,
        r#"["a", "b"]"#,
        r#"["ab"]"#,
        r#"[{}]"#,
        r#"[{}, {}]"#,
        r#"[{"a": "b"}]"#,
        r#"[{"a": "b"}, "c", "d"]"#,
        r#"[{"a": "b", "c": "d"}]"#,
        r#"[{"a": {"b": "c"}}]"#,
        r#"[{"a": {}, "b": "c"}]"#,
    ];
    let signatures: std::collections::BTreeSet<String> =
        texts.iter().map(|text| signature(text).unwrap()).collect();
    assert_eq!(signatures.len(), texts.len());
    assert_eq!(signature(r#"[ {"a":"b"} ]"#), signature(texts[6]));
    for other in [r#"["\n"]"#, "[1]", "[[]]", "[null]"] {
        assert_eq!(signature(other), None);
    }
}
