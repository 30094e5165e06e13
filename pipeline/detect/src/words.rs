//! The dictionary: names, street words and context words, folded to plain lower-case letters.
//!
//! The lists are this project's own, written for Brazil, the United States, Spain, Germany and their neighbours; the crate's
//! documentation says what each is made of. They are compiled in and looked up by word, so that one pass over a text serves all types.

use crate::{InfoType, TypeSet};
use std::collections::HashMap;
use std::sync::LazyLock;
use unicode_normalization::char::decompose_canonical;

/// What is known about a word.
#[derive(Clone, Copy, Default)]
pub(crate) struct Word {
    /// Types that it announces.
    pub(crate) context: TypeSet,
    flags: u16,
}

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident $method:ident $bit:literal;)*) => {
        impl Word {
            $($(#[$doc])* pub(crate) fn $method(self) -> bool { self.flags & $name != 0 })*
        }
        $(const $name: u16 = 1 << $bit;)*
    };
}

flags! {
    /// A given name.
    GIVEN is_given 0;
    /// A family name.
    SURNAME is_surname 1;
    /// A common word that is also a name: it does not make one alone.
    COMMON is_common 2;
    /// A small word inside a name: `da`, `von`.
    PARTICLE is_particle 3;
    /// A form of address before a name.
    HONORIFIC is_honorific 4;
    /// A street word that stands before the street's name: `Rua`.
    STREET_BEFORE is_street_before 5;
    /// A street word that stands after the street's name: `Street`.
    STREET_AFTER is_street_after 6;
    /// A word of a place inside a building: `apt`.
    UNIT is_unit 7;
    /// The name of a month.
    MONTH is_month 8;
    /// A word that introduces a name: `named`, `cliente`.
    NAMING is_naming 9;
    /// A word that makes a name of it a company's: `Ltda`, `Inc`.
    COMPANY is_company 10;
}

static WORDS: LazyLock<HashMap<&'static str, Word, foldhash::fast::FixedState>> = LazyLock::new(|| {
    let mut words: HashMap<&'static str, Word, _> = HashMap::with_capacity_and_hasher(8192, foldhash::fast::FixedState::with_seed(7));
    let flagged: [(&'static str, u16); 10] = [
        (include_str!("../words/given_names.txt"), GIVEN),
        (include_str!("../words/surnames.txt"), SURNAME),
        (include_str!("../words/common_words.txt"), COMMON),
        (include_str!("../words/street_before.txt"), STREET_BEFORE),
        (include_str!("../words/street_after.txt"), STREET_AFTER),
        ("da de do das dos di del della la las los van von der den zu zur e y ten ter af av bin ibn al el le du des", PARTICLE),
        (
            "mr mrs ms miss mister dr dra doctor sr sra srta senhor senhora dona don dona prof professor professora ing herr frau fraulein dipl univ mag lic sir madam lady hr fr",
            HONORIFIC,
        ),
        ("apt apto apartamento apartment suite ste unit bloco bl casa sala piso puerta pta planta esc escalera conjunto cj andar fundos lote quadra", UNIT),
        (
            "named name nome nombre namens customer cliente client kunde kundin titular holder cardholder beneficiario beneficiary favorecido pagador payee payer recebedor destinatario remetente sender recipient regards sincerely atenciosamente saudacoes assinado signed attn nominee passageiro passenger paciente patient mae pai mother father esposo esposa socio gerente manager contato atendente funcionario employee",
            NAMING,
        ),
        (
            "inc ltd llc ltda gmbh corp co plc ag sa kg ug eireli mei sarl bv nv oy ab limited corporation company companhia cia sons bros holdings group grupo stiftung kgaa ohg scp slu sl coop mbh",
            COMPANY,
        ),
    ];
    for (list, flag) in flagged {
        for word in list.split_whitespace() {
            words.entry(word).or_default().flags |= flag;
        }
    }
    for word in MONTH_WORDS.split_whitespace() {
        words.entry(word).or_default().flags |= MONTH;
    }
    for (types, list) in crate::context::WORDS {
        let types: TypeSet = types.iter().copied().collect();
        for word in list.split_whitespace() {
            let entry = words.entry(word).or_default();
            entry.context = entry.context.union(types);
        }
    }
    words
});

const MONTH_WORDS: &str = "jan january janeiro enero januar feb february fev fevereiro febrero februar march marco marzo marz apr april abr abril may maio mayo mai jun june junho junio juni jul july julho julio juli aug august agosto sep sept september setembro septiembre oct october outubro octubre okt oktober nov november novembro noviembre dec december dez dezembro dic diciembre dezember";

/// Looks a word up, as written.
pub(crate) fn look_up(word: &str) -> Option<Word> {
    let mut buffer = [0; 32];
    look_up_folded(fold(word, &mut buffer)?)
}

/// Looks a word up that is folded already.
pub(crate) fn look_up_folded(word: &str) -> Option<Word> {
    WORDS.get(word).copied()
}

/// Lower case without marks: `JOÃO`, whether composed or not, gives `joao`. `None` for what does not fit, which is no word of a list.
pub(crate) fn fold<'b>(word: &str, buffer: &'b mut [u8; 32]) -> Option<&'b str> {
    let mut length = 0;
    let mut put = |character: char| -> Option<()> {
        let end = length + character.len_utf8();
        character.encode_utf8(buffer.get_mut(length..end)?);
        length = end;
        Some(())
    };
    for character in word.chars() {
        if character.is_ascii() {
            put(character.to_ascii_lowercase())?;
            continue;
        }
        match character {
            'ß' => ['s', 's'].into_iter().try_for_each(&mut put)?,
            'ø' | 'Ø' => put('o')?,
            'ł' | 'Ł' => put('l')?,
            'đ' | 'Đ' => put('d')?,
            'æ' | 'Æ' => ['a', 'e'].into_iter().try_for_each(&mut put)?,
            'ı' => put('i')?,
            _ => {
                let mut fits = Some(());
                decompose_canonical(character, |part| {
                    if !matches!(part, '\u{300}'..='\u{36f}') {
                        for lower in part.to_lowercase() {
                            fits = fits.and_then(|()| put(lower));
                        }
                    }
                });
                fits?;
            }
        }
    }
    std::str::from_utf8(&buffer[..length]).ok()
}

/// Types that a column's name announces: its words, told apart by case, `_`, `-`, `.` or spaces, one by one and in pairs.
pub(crate) fn announced_by_name(name: &str) -> TypeSet {
    let mut types = TypeSet::EMPTY;
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut before = ' ';
    for character in name.chars().chain([' ']) {
        let boundary = !character.is_alphanumeric() && !matches!(character, '\u{300}'..='\u{36f}') || character.is_uppercase() && before.is_lowercase();
        if boundary && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if character.is_alphanumeric() || matches!(character, '\u{300}'..='\u{36f}') {
            part.push(character);
        }
        before = character;
    }
    for (index, part) in parts.iter().enumerate() {
        let mut add = |word: &str| {
            if let Some(known) = look_up(word) {
                types = types.union(known.context);
                if known.is_naming() {
                    types.insert(InfoType::PersonName);
                }
            }
        };
        add(part);
        add(part.trim_end_matches(|character: char| character.is_ascii_digit()));
        if let Some(next) = parts.get(index + 1) {
            add(&format!("{part}{next}"));
            if let Some(third) = parts.get(index + 2) {
                add(&format!("{part}{next}{third}"));
            }
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding() {
        let mut buffer = [0; 32];
        for (word, folded) in
            [("JOÃO", Some("joao")), ("Joa\u{303}o", Some("joao")), ("Straße", Some("strasse")), ("Łódź", Some("lodz")), ("Иван", Some("иван"))]
        {
            assert_eq!(fold(word, &mut buffer), folded, "{word}");
        }
        assert_eq!(fold(&"a".repeat(33), &mut buffer), None);
    }

    #[test]
    fn lists_are_folded_and_sorted() {
        for list in [include_str!("../words/given_names.txt"), include_str!("../words/surnames.txt"), include_str!("../words/common_words.txt")] {
            let words: Vec<&str> = list.split_whitespace().collect();
            assert!(words.is_sorted(), "sorted");
            for pair in words.windows(2) {
                assert_ne!(pair[0], pair[1], "twice");
            }
            for word in words {
                assert_eq!(fold(word, &mut [0; 32]), Some(word));
            }
        }
    }

    #[test]
    fn column_names() {
        for (name, info_type) in [
            ("cpf", InfoType::BrCpf),
            ("customer_cpf", InfoType::BrCpf),
            ("nrCpfCliente", InfoType::BrCpf),
            ("data_nascimento", InfoType::DateOfBirth),
            ("birthDate", InfoType::DateOfBirth),
            ("card_number", InfoType::Pan),
            ("número do cartão", InfoType::Pan),
            ("routing_number", InfoType::Aba),
            ("telefone2", InfoType::Phone),
            ("e-mail", InfoType::Email),
            ("cliente", InfoType::PersonName),
        ] {
            assert!(announced_by_name(name).contains(info_type), "{name}");
        }
        assert!(announced_by_name("amount").is_empty() && announced_by_name("").is_empty());
    }
}
