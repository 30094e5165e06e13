//! The *pseudonymize* stage alone on workload W's policy (`tests/bench`): rows shaped like W's, in memory, two partitions on two threads,
//! each beginning with nothing seen before; and W's memos alone, whose text is de-identified. `cargo bench -p perimeter --bench pseudonymize`; elements are rows.
#![allow(missing_docs, reason = "criterion's macros make items without documentation")]
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use datafusion::arrow::array::{ArrayRef, Decimal128Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use perimeter::engine::Limits;
use perimeter::pseudonymize::columns::Workers;
use perimeter::pseudonymize::stage;
use perimeter::store::Stores;
use perimeter::{keys, plan};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::thread;

const ROWS: usize = 2_000_000;
const PARTITIONS: usize = 2;
/// As in W: forty rows for each account, drawn by Zipf's law (s 0.9, q 10).
const ACCOUNTS: usize = ROWS / 40;

/// What belongs to an account.
struct Account {
    id: String,
    cpf: String,
    pans: Vec<String>,
    email: String,
    phone: String,
}

fn account(index: usize, random: &mut StdRng) -> Account {
    let body = format!("{:09}", random.random_range(1_000_000..1_000_000_000));
    let cpf = perimeter_detect::cpf::digits(body.as_bytes()).unwrap_or_default();
    let pan = |random: &mut StdRng| {
        let body = format!("{}{:09}", [411_111, 453_998, 510_510, 606_282][random.random_range(0..4)], random.random_range(0..1_000_000_000));
        let digit = perimeter_detect::luhn::digit(body.as_bytes()).unwrap_or(b'0');
        format!("{body}{}", digit as char)
    };
    let pans = (0..random.random_range(1..4)).map(|_| pan(random)).collect();
    Account {
        id: format!("BR-{:010}", index * 7919 + 100_000_000),
        cpf: format!("{body}{}", String::from_utf8_lossy(&cpf)),
        pans,
        email: format!("fernanda.oliveira{index}@mail.example.net"),
        phone: format!("+5511{:09}", random.random_range(900_000_000..1_000_000_000)),
    }
}

/// W's text: words, numbers, and now and then a taxpayer, an address or a telephone number.
fn memos(accounts: &[Account]) -> String {
    let words = "compra pagamento parcela loja mercado farmacia posto combustivel restaurante assinatura mensal estorno taxa tarifa cartao credito debito online app \
                 viagem hotel passagem curso livro roupa celular recarga boleto conta luz agua internet aluguel escola saude plano exame pet entrega frete cupom \
                 desconto ref pedido nota cliente obs contato";
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut random = StdRng::seed_from_u64(4);
    let mut text = String::new();
    while text.len() < 4_000_000 {
        let drawn: usize = random.random_range(0..1 << 30);
        let account = &accounts[drawn % accounts.len()];
        let _ = match drawn % 97 {
            0 => write!(text, "{} ", account.cpf),
            1 => write!(text, "{} ", account.email),
            2 => write!(text, "+5511{:09} ", drawn % 1_000_000_000),
            3..8 => write!(text, "{} ", drawn % 100_000),
            _ => write!(text, "{} ", words[drawn % words.len()]),
        };
    }
    text
}

/// Batches of the columns `names`, as the query gives them.
fn batches(names: &[String], rows: usize, batch_rows: usize, seed: u64) -> Vec<RecordBatch> {
    let mut of_account = StdRng::seed_from_u64(1);
    let accounts: Vec<Account> = (0..ACCOUNTS).map(|index| account(index, &mut of_account)).collect();
    let mut cumulated: Vec<f64> = Vec::with_capacity(ACCOUNTS);
    for index in 0..ACCOUNTS {
        cumulated.push(cumulated.last().unwrap_or(&0.0) + (index as f64 + 10.0).powf(-0.9));
    }
    let total = cumulated.last().copied().unwrap_or(1.0);
    let mut random = StdRng::seed_from_u64(seed);
    let memos = memos(&accounts);
    let cities = ["São Paulo", "Rio de Janeiro", "Belo Horizonte", "Curitiba"];
    let mut batches = Vec::new();
    for start in (0..rows).step_by(batch_rows) {
        let rows = batch_rows.min(rows - start);
        let drawn: Vec<&Account> = (0..rows)
            .map(|_| {
                let at = random.random::<f64>() * total;
                &accounts[cumulated.partition_point(|sum| *sum < at).min(ACCOUNTS - 1)]
            })
            .collect();
        let mut text = |value: &mut dyn FnMut(&Account, &mut StdRng) -> Option<String>| -> ArrayRef {
            Arc::new(drawn.iter().map(|account| value(account, &mut random)).collect::<StringArray>())
        };
        let column = |name: &String| -> ArrayRef {
            match name.as_str() {
                "memo" => {
                    let mut of_memo = StdRng::seed_from_u64(3);
                    text(&mut |_, random| {
                        // A slice of the text, at words' ends or not, as W's generator cuts it.
                        let start = random.random_range(0..memos.len() - 200);
                        let length = of_memo.random_range(20..161);
                        memos.get(start..start + length).map(str::to_owned)
                    })
                }
                "account_id" => text(&mut |account, _| Some(account.id.clone())),
                "cpf" => text(&mut |account, _| Some(account.cpf.clone())),
                "pan" => text(&mut |account, random| account.pans.get(random.random_range(0..account.pans.len())).cloned()),
                "email" => text(&mut |account, random| (random.random::<f64>() >= 0.01).then(|| account.email.clone())),
                "phone" => text(&mut |account, random| (random.random::<f64>() >= 0.01).then(|| account.phone.clone())),
                "zip" => text(&mut |_, random| Some(format!("{:08}", random.random_range(1_000..99_999_999)))),
                "currency" => text(&mut |_, _| Some("BRL".to_owned())),
                "merchant_city" => text(&mut |_, random| Some(cities[random.random_range(0..cities.len())].to_owned())),
                "booked_at" => {
                    let mut times = StdRng::seed_from_u64(seed + start as u64);
                    Arc::new(TimestampMicrosecondArray::from_iter_values(
                        (0..rows).map(|_| 1_704_067_200_000_000 + times.random_range(0..731 * 86_400_000_000_i64)),
                    ))
                }
                "amount" => {
                    let amounts: Decimal128Array = (0..rows).map(|row| Some((row as i128 * 7919) % 1_000_000 + 1)).collect();
                    Arc::new(amounts.with_precision_and_scale(18, 2).expect("the amounts fit"))
                }
                "mcc" => Arc::new(Int32Array::from_iter_values((0..rows).map(|row| (row % 9_999) as i32 + 1))),
                "tx_id" => text(&mut |_, random| {
                    let mut id = String::with_capacity(36);
                    let _ = write!(
                        id,
                        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
                        random.random::<u32>(),
                        random.random::<u16>(),
                        random.random::<u16>() >> 4,
                        random.random::<u16>() >> 4,
                        random.random::<u64>() >> 16
                    );
                    Some(id)
                }),
                other => panic!("workload W has no column {other}"),
            }
        };
        let columns: Vec<(&String, ArrayRef)> = {
            let mut column = column;
            names.iter().map(|name| (name, column(name))).collect()
        };
        batches.push(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).expect("columns of one length"));
    }
    batches
}

fn whole_stage(criterion: &mut Criterion) {
    stage_of(criterion, "w_csv.job.yaml", "workload W, two partitions", ROWS);
}

fn memo(criterion: &mut Criterion) {
    stage_of(criterion, "w_text.job.yaml", "memo of workload W, two partitions", ROWS / 4);
}

fn stage_of(criterion: &mut Criterion, job: &str, name: &str, rows: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let header = "tx_id,account_id,cpf,pan,holder_name,email,phone,booked_at,amount,currency,mcc,merchant_city,zip,memo\n";
    std::fs::write(folder.path().join("part.csv"), header).expect("a file");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let limits = Limits::new(2 << 30, Some(PARTITIONS));
    let stage = || {
        runtime.block_on(async {
            let place = folder.path().display().to_string();
            let parameters: BTreeMap<String, String> = ["src", "out", "keys"].into_iter().map(|name| (name.to_owned(), place.clone())).collect();
            let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bench").join(job);
            let contract = perimeter_contract::load(&job, &parameters).unwrap_or_else(|mistakes| panic!("{}", mistakes.render()));
            let stores = Arc::new(Stores::new(tokio::runtime::Handle::current()));
            let plan = plan::plan(contract, &stores).await.expect("a plan");
            let keys = keys::open(&plan, &stores).await.expect("keys");
            let stage = stage(&plan, &keys, &limits, "bench").expect("a stage");
            let names: Vec<String> = stage.inputs.iter().map(|&input| plan.columns[input].name.clone()).collect();
            (stage, names)
        })
    };
    let (stage, names) = stage();
    let spec = Arc::new(stage.spec);
    let partitions: Vec<Vec<RecordBatch>> =
        (0..PARTITIONS).map(|partition| batches(&names, rows / PARTITIONS, limits.batch_rows, 2 + partition as u64)).collect();
    let mut group = criterion.benchmark_group("pseudonymize");
    group.throughput(Throughput::Elements(rows as u64)).sample_size(10);
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            thread::scope(|scope| {
                for batches in &partitions {
                    let spec = Arc::clone(&spec);
                    scope.spawn(move || {
                        let mut workers = Workers::new(spec);
                        for batch in batches {
                            std::hint::black_box(workers.push(batch).expect("rows of W pass"));
                        }
                    });
                }
            });
        });
    });
    group.finish();
}

criterion_group!(benches, whole_stage, memo);
criterion_main!(benches);
