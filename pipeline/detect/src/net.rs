//! Addresses of the network: e-mail, URL, IP, MAC, UUID.

use crate::Verdict;
use std::net::{Ipv4Addr, Ipv6Addr};

/// E-mail address (RFC 5321 in what people use): a dotted or quoted local part of up to 64 bytes, a domain with a top level.
///
/// Letters of any script may stand in both parts; full-width forms, which only look like ASCII, may not.
pub(crate) fn email(value: &str) -> Verdict {
    let Some((local, domain)) = value.rsplit_once('@') else { return Verdict::Invalid };
    Verdict::valid_if(value.len() <= 254 && local_part(local) && host_name(domain))
}

fn local_part(local: &str) -> bool {
    if local.is_empty() || local.len() > 64 {
        return false;
    }
    if let Some(quoted) = local.strip_prefix('"') {
        let Some(quoted) = quoted.strip_suffix('"') else { return false };
        let mut escaped = false;
        let sound = quoted.chars().all(|character| {
            let allowed = escaped || character != '"' && !character.is_control();
            escaped = character == '\\' && !escaped;
            allowed
        });
        return sound && !escaped && !quoted.is_empty();
    }
    local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom))
}

/// A character of a local part outside quotes.
pub(crate) fn is_atom(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(character) || is_foreign_letter(character)
}

/// A letter beyond ASCII that is not a full-width form.
fn is_foreign_letter(character: char) -> bool {
    !character.is_ascii() && character.is_alphanumeric() && !matches!(character, '\u{ff00}'..='\u{ffef}')
}

/// A character of a label of a host name.
pub(crate) fn is_label(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-' || is_foreign_letter(character) || is_mark(character)
}

fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{97f}')
}

/// A domain name with a top level of letters.
pub(crate) fn host_name(host: &str) -> bool {
    let mut labels = 0;
    let sound = host.split('.').all(|label| {
        labels += 1;
        !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-') && label.chars().all(is_label)
    });
    let top = host.rsplit('.').next().unwrap_or_default();
    let top_is_name =
        top.len() >= 2 && top.chars().all(|character| character.is_alphabetic() || is_mark(character)) || top.len() > 4 && top.starts_with("xn--");
    sound && labels >= 2 && host.len() <= 253 && top_is_name
}

/// A URL of http, https or ftp, or one without a scheme that begins with a host name.
pub(crate) fn url(value: &str) -> Verdict {
    if value.len() > 2083 || value.chars().any(|character| character.is_whitespace() || character.is_control() || "<>\"".contains(character)) {
        return Verdict::Invalid;
    }
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#', '.']) => (Some(scheme), rest),
        _ => (None, value),
    };
    if scheme.is_some_and(|scheme| !["http", "https", "ftp"].iter().any(|known| known.eq_ignore_ascii_case(scheme))) {
        return Verdict::Invalid;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let script = user.split(':').next().is_some_and(|word| ["javascript", "data", "vbscript"].iter().any(|known| known.eq_ignore_ascii_case(word)));
            if user.is_empty() || user.contains('@') || user.matches(':').count() > 1 || scheme.is_none() && script {
                return Verdict::Invalid;
            }
            if scheme.is_none() && !user.contains(':') && authority.len() == rest.len() {
                // `user@host` alone is an e-mail address.
                return Verdict::Invalid;
            }
            host
        }
        None => authority,
    };
    let (host, port) = match host.strip_prefix('[') {
        Some(bracketed) => match bracketed.split_once(']') {
            Some((address, port)) if address.parse::<Ipv6Addr>().is_ok() => (None, port.strip_prefix(':').or(port.is_empty().then_some(""))),
            _ => return Verdict::Invalid,
        },
        None => match host.split_once(':') {
            Some((host, port)) => (Some(host), Some(port)),
            None => (Some(host), Some("")),
        },
    };
    let Some(port) = port else { return Verdict::Invalid };
    if !(port.is_empty() || port.len() <= 5 && port.parse::<u16>().is_ok_and(|port| port != 0)) {
        return Verdict::Invalid;
    }
    let named =
        host.is_none_or(|host| (host_name(host) && !host.split('.').any(|label| label == "xn--")) || host.parse::<Ipv4Addr>().is_ok() && scheme.is_some());
    Verdict::valid_if(named)
}

/// IPv4 in four decimal numbers, or IPv6 with or without its zone.
pub(crate) fn ip(value: &str) -> Verdict {
    let (address, zone) = match value.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (value, None),
    };
    let zone_is_sound = zone.is_none_or(|zone| !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.'));
    Verdict::valid_if(zone_is_sound && (address.parse::<Ipv6Addr>().is_ok() || zone.is_none() && address.parse::<Ipv4Addr>().is_ok()))
}

/// EUI-48 or EUI-64: pairs with one kind of separator, or groups of four with dots.
pub(crate) fn mac(value: &str) -> Verdict {
    let bytes = value.as_bytes();
    let (width, separator) = match bytes {
        [_, _, separator @ (b':' | b'-' | b' '), ..] => (2, *separator),
        [_, _, _, _, b'.', ..] => (4, b'.'),
        _ => return Verdict::Invalid,
    };
    let mut groups = 0;
    let sound = bytes.split(|&byte| byte == separator).all(|group| {
        groups += 1;
        group.len() == width && group.iter().all(u8::is_ascii_hexdigit)
    });
    Verdict::valid_if(sound && matches!((width, groups), (2, 6 | 8) | (4, 3 | 4)))
}

/// UUID of versions 1 to 8 in its usual form.
pub(crate) fn uuid(value: &str) -> Verdict {
    let bytes = value.as_bytes();
    Verdict::valid_if(uuid_shape(bytes) && matches!(bytes[14], b'1'..=b'8') && matches!(bytes[19], b'8' | b'9' | b'a' | b'b' | b'A' | b'B'))
}

/// Whether the bytes are five groups of hexadecimal digits as in a UUID, whatever the version.
pub(crate) fn uuid_shape(bytes: &[u8]) -> bool {
    bytes.len() == 36 && bytes.iter().enumerate().all(|(index, byte)| if matches!(index, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_addresses() {
        for value in ["foo@bar.com", "x@x.au", "hans.müller@test.com", "\"a b\"@example.com", "user@xn--80ak6aa92e.com", "a+b@sub.example.museum"] {
            assert_eq!(email(value), Verdict::Valid, "{value}");
        }
        for value in ["a@b", "@b.com", "a@b.com.", "a..b@c.com", "a.@c.com", "a b@c.com", "a@ｇｍａｉｌ.com", "\"a@b.com", "a@b.c", "a@b.co\u{2006}m"] {
            assert_eq!(email(value), Verdict::Invalid, "{value}");
        }
        for value in
            ["www.foobar.com", "HTTP://WWW.FOOBAR.COM:65535/", "http://[::192.9.5.5]/ipng", "http://10.0.0.0/", "ftp://example.com:", "http://кулік.укр"]
        {
            assert_eq!(url(value), Verdict::Valid, "{value}");
        }
        for value in ["//foobar.com", "http://com/", "http://a.com:0/", "javascript:alert(1)@example.com", "invalid.x", "a@b.com", "1.2.3.4", "http://@a.com"] {
            assert_eq!(url(value), Verdict::Invalid, "{value}");
        }
        for value in ["1.2.3.4", "::1", "fe80::1%eth0", "::ffff:192.0.2.1"] {
            assert_eq!(ip(value), Verdict::Valid, "{value}");
        }
        for value in ["256.0.0.0", "01.2.3.4", "1.2.3.4%eth0", "1.2.3", "::1::"] {
            assert_eq!(ip(value), Verdict::Invalid, "{value}");
        }
        for (value, verdict) in [
            ("01:23:45:67:89:ab", Verdict::Valid),
            ("A9 C5 D4 9F EB D3", Verdict::Valid),
            ("0012.3456.789A", Verdict::Valid),
            ("10:2F:33-AC-29-C3", Verdict::Invalid),
            ("1:2:3:4:5:6", Verdict::Invalid),
        ] {
            assert_eq!(mac(value), verdict, "{value}");
        }
        assert_eq!(uuid("9deb20fe-a6e0-355c-81ea-288b009e4f6d"), Verdict::Valid);
        assert_eq!(uuid("A987FBC9-4BED-3078-CF07-9141BA07C9F3"), Verdict::Invalid);
    }
}
