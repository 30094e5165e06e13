//! `format` of strings. Each function says whether all of a text is one; none allocates, and none resolves or normalizes anything.
use perimeter_contract::schema::StringFormat;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether the whole text is of the format.
pub(super) fn is(format: StringFormat, text: &str) -> bool {
    match format {
        StringFormat::Email => email(text),
        StringFormat::Uuid => uuid(text),
        StringFormat::Uri => uri(text),
        StringFormat::Hostname => hostname(text),
        StringFormat::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
        StringFormat::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
    }
}

/// RFC 5321: `dot-string@domain` or `dot-string@[address]`; ASCII, 254 octets at most, 64 of them before the `@`.
fn email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let atext = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&b);
    let literal = || {
        let address = domain.strip_prefix('[')?.strip_suffix(']')?;
        Some(address.strip_prefix("IPv6:").map_or_else(|| address.parse::<Ipv4Addr>().is_ok(), |v6| v6.parse::<Ipv6Addr>().is_ok()))
    };
    text.len() <= 254
        && local.len() <= 64
        && local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(atext))
        && (hostname(domain) || literal() == Some(true))
}

/// RFC 9562, with hyphens; upper and lower case.
fn uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().enumerate().all(|(at, b)| if matches!(at, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() })
}

/// RFC 1123: labels of letters, digits and inner hyphens, 63 octets at most each, 253 together.
fn hostname(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// RFC 3986: a scheme and everything behind it, by its grammar.
fn uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    if !letters.next().is_some_and(|b| b.is_ascii_alphabetic()) || !letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')) {
        return false;
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            if !self::authority(authority) {
                return false;
            }
            path
        }
    };
    characters(path, b":@/") && characters(query, b":@/?") && characters(fragment, b":@/?")
}

/// `[userinfo@]host[:port]`.
fn authority(text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let (host, port) = match host.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        Some((address, port)) => {
            let future = || {
                let (version, rest) = address.strip_prefix(['v', 'V'])?.split_once('.')?;
                Some(!version.is_empty() && version.bytes().all(|b| b.is_ascii_hexdigit()) && !rest.is_empty() && !rest.contains('%') && characters(rest, b":"))
            };
            if address.parse::<Ipv6Addr>().is_err() && future() != Some(true) {
                return false;
            }
            ("", port)
        }
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port = if port.is_empty() { Some("") } else { port.strip_prefix(':') };
    characters(user, b":") && characters(host, b"") && port.is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

/// Unreserved characters, sub-delimiters, percent-encoded octets, and those beside them.
fn characters(text: &str, beside: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, b)| match b {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => true,
        b => b.is_ascii_alphanumeric() || beside.contains(b),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(format: StringFormat, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(is(format, text), "{format:?} {text}");
        }
        for text in bad {
            assert!(!is(format, text), "{format:?} {text}");
        }
    }

    #[test]
    fn emails() {
        let long = format!("{}@bank.example", "a".repeat(65));
        let longer = format!("a@{}.example", ["b".repeat(62).as_str(); 4].join("."));
        all(
            StringFormat::Email,
            &["ana@bank.example", "a.b+c@x-y.example", "o'brien@bank.example", "a@localhost", "a@[192.0.2.1]", "a@[IPv6:2001:db8::1]", "{a}@b.example"],
            &[
                "",
                "@",
                "a@",
                "@b.example",
                "a.@b.example",
                ".a@b.example",
                "a..b@b.example",
                "a b@c.example",
                "a@b..example",
                "a@-b.example",
                "a@b.example.",
                "a@[192.0.2.256]",
                "a@[::1]",
                "\"a b\"@c.example",
                "a@b@c.example",
                "josé@bank.example",
                "a@bank.example ",
                &long,
                &longer,
            ],
        );
    }

    #[test]
    fn uuids() {
        all(
            StringFormat::Uuid,
            &["0190163d-8694-739b-aea5-966c26f8ad91", "00000000-0000-0000-0000-000000000000", "0190163D-8694-739B-AEA5-966C26F8AD91"],
            &[
                "",
                "0190163d8694739baea5966c26f8ad91",
                "{0190163d-8694-739b-aea5-966c26f8ad91}",
                "0190163d-8694-739b-aea5-966c26f8ad9",
                "0190163d-8694-739b-aea5-966c26f8ad9g",
                "0190163d-8694-739baea5--966c26f8ad91",
            ],
        );
    }

    #[test]
    fn hosts_and_addresses() {
        let label = "a".repeat(64);
        all(
            StringFormat::Hostname,
            &["bank.example", "a", "1and1.example", "xn--bcher-kva.example", "A-1.b"],
            &["", ".", "a.", ".a", "-a", "a-", "a_b.example", "a b", "bücher.example", &label],
        );
        all(
            StringFormat::Ipv4,
            &["0.0.0.0", "192.0.2.255"],
            &["", "192.0.2", "192.0.2.256", "192.0.2.01", "192.0.2.1 ", "0x7f.0.0.1", "1.2.3.4.5", "2130706433"],
        );
        all(
            StringFormat::Ipv6,
            &["::", "::1", "2001:db8::8:800:200c:417a", "::ffff:192.0.2.1"],
            &["", ":", "1::2::3", "12345::", "::1%eth0", "[::1]", "1:2:3:4:5:6:7", "192.0.2.1"],
        );
    }

    #[test]
    fn uris() {
        all(
            StringFormat::Uri,
            &[
                "https://bank.example/a/b?c=d&e=%20#f",
                "urn:isbn:0451450523",
                "mailto:ana@bank.example",
                "ftp://u:p@[2001:db8::1]:21/x",
                "file:///etc/x",
                "a+b.c-1:",
                "s3://bucket/key",
                "http://[v1.a:b]/",
                "http://h:/",
            ],
            &[
                "",
                "bank.example",
                "/a/b",
                "//bank.example/a",
                ":a",
                "1http://x",
                "http://bank.example/a b",
                "http://bank.example/%2",
                "http://bank.example/%zz",
                "http://ban k/",
                "http://h:80a/",
                "http://[::1",
                "http://[x]/",
                "http://a/\u{e9}",
                "http://a/<b>",
                "http://a/[b]",
                "http:\\\\a",
                "http://a#b#c",
                "http://u@v@w/",
            ],
        );
    }
}
