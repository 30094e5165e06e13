//! What users of other tools reported, as tests of this one. The numbers are those of the collection of public reports.
use perimeter_pseudonym::transform::{Alphabet, Canonicalize, CheckDigit, CryptoHash, CryptoHashOptions, CryptoReplaceFfxFpe, FpeOptions, FpeRefused};
use perimeter_pseudonym::{LocalKms, Purpose, RootKey, create_keyring, unwrap_root};

async fn root() -> RootKey {
    let folder = tempfile::tempdir().unwrap();
    let kms = LocalKms::create(&folder.path().join("test.key")).unwrap();
    unwrap_root(&kms, &create_keyring(&kms, "person").await.unwrap(), None, Purpose::Run).await.unwrap()
}

fn token(root: &RootKey, canonicalize: &[Canonicalize], value: &str) -> String {
    let mut out = Vec::new();
    CryptoHash::new(root, "person", &CryptoHashOptions { canonicalize: canonicalize.into(), ..Default::default() }).apply(value, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// B65, cuducos/minha-receita 222: a CNPJ stored as an integer loses its zeros.
#[tokio::test]
async fn a_number_without_its_zeros_joins_by_an_explicit_step_only() {
    let root = root().await;
    let (digits, padded) = (&[Canonicalize::Digits][..], &[Canonicalize::Digits, Canonicalize::LeftPad(14)][..]);
    let text = "00.000.400/0001-05";
    let integer = 400_000_105_i64.to_string();
    assert_ne!(token(&root, digits, text), token(&root, digits, &integer));
    assert_eq!(token(&root, padded, text), token(&root, padded, &integer));
    assert_ne!(token(&root, digits, text), token(&root, padded, text), "the steps are part of a token's identity");
    let cpf = &[Canonicalize::Trim, Canonicalize::Nfc, Canonicalize::Digits, Canonicalize::LeftPad(11)][..];
    assert_eq!(token(&root, cpf, " 012.345.678-90"), token(&root, cpf, &1_234_567_890_i64.to_string()));
}

/// B69, caiopizzol/cnpj-data-pipeline 91: alphanumeric CNPJ are not recognised, nor their lower case.
#[tokio::test]
async fn alphanumeric_cnpj_in_both_cases_are_one() {
    let root = root().await;
    let steps = [Canonicalize::StripPunctuation, Canonicalize::Upper];
    assert_eq!(token(&root, &steps, "12.ABC.345/01DE-35"), token(&root, &steps, "12abc34501de35"));
    let options = FpeOptions { canonicalize: steps.into(), check_digit: Some(CheckDigit::CnpjAlphanumeric), ..Default::default() };
    let mut out = Vec::new();
    CryptoReplaceFfxFpe::new(&root, "person", &options).unwrap().apply("12abc34501de35", &mut out).unwrap();
    assert!(perimeter_detect::cnpj::valid(&out) && out != b"12ABC34501DE35");
}

/// B72, mysto/python-fpe 32: zeros in front or behind raise errors.
#[tokio::test]
async fn zeros_are_digits() {
    let root = root().await;
    let mut transform = CryptoReplaceFfxFpe::new(&root, "person", &FpeOptions::default()).unwrap();
    let mut tokens = std::collections::HashSet::new();
    for value in ["000000", "100000", "000001", "0000000", "00000000000000000000"] {
        let mut out = Vec::new();
        transform.apply(value, &mut out).unwrap();
        assert!(out.len() == value.len() && out.iter().all(u8::is_ascii_digit));
        tokens.insert(out);
    }
    assert_eq!(tokens.len(), 5);
}

/// B74, idealista/format-preserving-encryption-java 10: domains of a thousand values are taken.
#[tokio::test]
async fn small_domains_are_refused_before_anything_runs() {
    let root = root().await;
    for (what, length) in [("a card's security code", 3), ("a postal code", 5)] {
        let options = FpeOptions { lengths: Some(length..=length), ..Default::default() };
        let Err(FpeRefused::DomainTooSmall { domain }) = CryptoReplaceFfxFpe::new(&root, "card", &options) else { panic!("{what} was taken") };
        assert_eq!(domain.size(), Some(10_u128.pow(length as u32)));
        assert!(domain.to_string().ends_with(&format!("10^{length} = 1{} values", "0".repeat(length))), "{domain}");
    }
    // Letters need fewer places.
    let options = FpeOptions { lengths: Some(4..=4), alphabet: Alphabet::named("alphanumeric"), ..Default::default() };
    assert!(CryptoReplaceFfxFpe::new(&root, "card", &options).is_ok());
}
