//! Whether the cells of a first line are names of columns. What is no name is data, and is not shown.
use super::meaning::is_data;
use super::profile::Lens;
use perimeter_detect::{Context, InfoType, Likelihood, Verdict};

/// Names are shorter.
const LONGEST_NAME: usize = 64;

/// Blanks that only pad.
const PADDING: &str = "   ";

/// Whether text that stands where a name should is data: numbers, what a detector finds, a person, an address, padding, long text.
pub(super) fn is_no_name(name: &str, lens: &mut Lens) -> bool {
    let name = name.trim();
    if is_data(name) || name.contains(PADDING) || name.chars().count() > LONGEST_NAME {
        return true;
    }
    let counts = |word: &str| word.len() >= 3 && word.bytes().all(|b| b.is_ascii_digit()) && !is_year(word);
    if name.split_whitespace().nth(1).is_some() && name.split_whitespace().any(counts) {
        return true;
    }
    if longest_digit_run(name) >= 8 || InfoType::PersonName.validate(name) == Verdict::Valid {
        return true;
    }
    lens.detector.scan(name, &Context::default(), &mut lens.findings);
    lens.findings.iter().any(|found| found.likelihood >= Likelihood::Likely)
}

/// Whether a first line is data: a cell of it is no name, or is a person's like those below it, known or not.
pub(super) fn is_data_line(first: &[String], below: &[Vec<String>], lens: &mut Lens) -> bool {
    first.iter().any(|cell| is_no_name(cell, lens)) || (0..first.len()).any(|at| is_person_among_persons(at, first, below))
}

fn is_person_among_persons(at: usize, first: &[String], below: &[Vec<String>]) -> bool {
    let Some(cell) = first.get(at) else { return false };
    let announces = Context::column(cell).announced().contains(InfoType::PersonName);
    if announces || cell.split_whitespace().nth(1).is_none() {
        return false;
    }
    let cells = || below.iter().filter_map(|record| record.get(at)).filter(|cell| !cell.trim().is_empty());
    let persons = cells().filter(|cell| InfoType::PersonName.validate(cell) == Verdict::Valid).count();
    persons > 0 && 2 * persons >= cells().count()
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && (word.starts_with("19") || word.starts_with("20"))
}

pub(super) fn longest_digit_run(text: &str) -> usize {
    text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perimeter_detect::{Detector, DetectorOptions, Findings};

    fn lens() -> Lens {
        Lens { detector: Detector::new(&DetectorOptions::default()).unwrap(), findings: Findings::new() }
    }

    #[test]
    fn names_of_columns() {
        let mut lens = lens();
        for name in [
            "id",
            "valor",
            "cpf",
            "nome",
            "Nome Completo",
            "First Name",
            "Data de Nascimento",
            "Sales 2024",
            "PAY_0",
            "Is Fraud?",
            "Address line 1",
            "E-mail",
            "telefone",
            "Rua",
            "Cidade",
            "Conta Corrente",
            "Número do Cartão",
            "customer.holder.iban",
            "default payment next month",
            "A11",
            "Q1 2024",
        ] {
            assert!(!is_no_name(name, &mut lens), "{name}");
        }
    }

    #[test]
    fn data_where_names_should_be() {
        let mut lens = lens();
        for data in [
            "MARIA SOUZA",
            "JOSE DA SILVA LIMA",
            "0HEADER             ACME",
            "CONTA 123 AGENCIA",
            "390.533.447-05",
            "someone@bank.example",
            "02RETORNO01COBRANCA       1234",
            "call me at someone@bank.example please",
            "100000108301661305JOSE",
            &"long text ".repeat(8),
        ] {
            assert!(is_no_name(data, &mut lens), "{data}");
        }
    }

    #[test]
    fn a_person_that_no_list_has_among_those_it_has() {
        let mut lens = lens();
        let line = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let below = vec![line(&["JOSE LIMA", "x"]), line(&["ANA SILVA", "y"])];
        assert!(is_data_line(&line(&["XYLQA WRTZKB", "z"]), &below, &mut lens));
        for name in ["Nome Completo", "Customer Name", "titular"] {
            assert!(!is_data_line(&line(&[name, "z"]), &below, &mut lens), "{name}");
        }
        assert!(!is_data_line(&line(&["Some Thing", "z"]), &[line(&["red", "x"])], &mut lens));
    }
}
