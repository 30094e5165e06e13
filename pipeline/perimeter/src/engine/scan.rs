//! A source as a table of the engine: *read* and *check* fused into the scan.
//!
//! Whatever SQL filters, projects or skips afterwards, every unit of every source is read and checked exactly once for
//! the tally: a scan whose consumer stops goes on checking, and [`Checked::finish`] reads what no scan touched.
use super::digests::{Gather, Records};
use super::failure::FirstFailure;
use super::rules::JobRules;
use super::tally::Tally;
use crate::check::sets::{Observe, UnitObserver, Violations};
use crate::error::{Culprit, Error, Failure, Result};
use crate::plan::{Input, Plan};
use crate::progress::Progress;
use crate::quarantine::QuarantineWriter;
use crate::read::{self, Accept, Ingest, InputFile, Rejected, Unit, UnitRules, UnitTally};
use crate::run::Services;
use crate::store::Stores;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result as EngineResult, TableReference};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use datafusion::prelude::SessionContext;
use perimeter_contract::job::{Source, Uri};
use perimeter_pseudonym::RootKey;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Where the rejected rows of a run go: one sealed file per unit that has any.
#[derive(Clone, Debug)]
pub struct Quarantined {
    /// The key that seals.
    pub root: Arc<RootKey>,
    /// The job's quarantine folder.
    pub folder: Uri,
    /// The run's folder below it.
    pub run_id: String,
}

/// One source of a job while it is read.
pub struct CheckedSource {
    source: Source,
    schema: SchemaRef,
    files: Vec<InputFile>,
    units: Vec<Unit>,
    stores: Arc<Stores>,
    batch_rows: usize,
    quarantine: Option<Quarantined>,
    failure: FirstFailure,
    progress: Arc<Progress>,
    pass: Pass,
    /// One state per unit, so that a source scanned twice (a self-join) is counted and quarantined once.
    states: Mutex<States>,
    settled: Condvar,
}

struct States {
    units: Vec<UnitState>,
    reading: usize,
}

#[derive(Clone)]
enum UnitState {
    Untouched,
    /// A scan that counts is reading it.
    Counting,
    Counted(UnitTally),
}

impl fmt::Debug for CheckedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedSource").field("source", &self.source.name).field("units", &self.units.len()).finish_non_exhaustive()
    }
}

/// What a [`CheckedSource`] needs beside the source itself.
pub struct Reading {
    /// Where the files are.
    pub stores: Arc<Stores>,
    /// Rows per batch.
    pub batch_rows: usize,
    /// Where rejected rows go; absent where nothing may be written (`check`).
    pub quarantine: Option<Quarantined>,
    /// Where the first failure goes.
    pub failure: FirstFailure,
    /// What the user sees meanwhile.
    pub progress: Arc<Progress>,
    /// What its rows are held against beside the rules about single values.
    pub pass: Pass,
}

/// What a pass over one source does beside reading and checking values.
#[derive(Clone, Debug)]
pub struct Pass {
    rules: Arc<JobRules>,
    source: usize,
    /// Rows that an earlier pass has found to break rules about sets are rejected.
    violations: Option<Arc<Violations>>,
    /// Rows are counted and digested.
    gather: Option<Arc<Gather>>,
    /// Another pass shows its rows to the user; this one shows bytes alone.
    ahead: bool,
}

impl Pass {
    /// Gives the clean rows of a source: those that break no rule of their own.
    pub fn clean(rules: &Arc<JobRules>, source: usize) -> Self {
        Self { rules: Arc::clone(rules), source, violations: None, gather: None, ahead: true }
    }
}

/// As [`Pass`], for all sources of a job.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    /// What an earlier pass has found.
    pub violations: Option<Arc<Violations>>,
    /// Who counts and digests.
    pub gather: Option<Arc<Gather>>,
    /// It comes before the pass whose rows the user sees.
    pub ahead: bool,
}

impl CheckedSource {
    /// A source that will be read as planned: these files, in these units.
    pub fn new(source: Source, files: Vec<InputFile>, units: Vec<Unit>, reading: Reading) -> Arc<Self> {
        let states = Mutex::new(States { units: vec![UnitState::Untouched; units.len()], reading: 0 });
        let schema = read::arrow_schema(&source.schema);
        let Reading { stores, batch_rows, quarantine, failure, progress, pass } = reading;
        Arc::new(Self { source, schema, files, units, stores, batch_rows, quarantine, failure, progress, pass, states, settled: Condvar::new() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Reads and checks one unit; `emit` gets the rows that passed. The first to come counts and quarantines.
    fn ingest(&self, number: usize, projection: &[usize], emit: &mut dyn FnMut(RecordBatch) -> ControlFlow<()>) -> Result<()> {
        let counts = {
            let mut states = self.lock();
            let counts = matches!(states.units[number], UnitState::Untouched);
            if counts {
                states.units[number] = UnitState::Counting;
                states.reading += 1;
            }
            counts
        };
        let quarantine = self
            .quarantine
            .as_ref()
            .filter(|_| counts)
            .map(|to| QuarantineWriter::new(&self.stores, &to.root, &to.folder, &to.run_id, &self.source.name, number));
        let mut unit = UnitSink { shows: counts && !self.pass.ahead, emit, quarantine, progress: &self.progress };
        let ingest = Ingest { stores: &self.stores, source: &self.source, files: &self.files, projection, batch_rows: self.batch_rows };
        let tally = self.ingest_with(&ingest, number, counts, &mut unit).and_then(|tally| {
            if let Some(writer) = unit.quarantine.take() {
                writer.finish()?;
            }
            Ok(tally)
        });
        if counts {
            let mut states = self.lock();
            states.reading -= 1;
            if let Ok(tally) = &tally {
                self.progress.add_bytes(tally.bytes_read);
                states.units[number] = UnitState::Counted(tally.clone());
            }
            self.settled.notify_all();
        }
        tally.map(|_| ())
    }

    /// Reads a unit by the rules of this pass.
    fn ingest_with(&self, ingest: &Ingest<'_>, number: usize, counts: bool, accept: &mut dyn Accept) -> Result<UnitTally> {
        let Pass { rules, source, violations, gather, .. } = &self.pass;
        let (unit, own) = (&self.units[number], &rules.sources[*source]);
        let gather = gather.as_ref().filter(|_| counts && rules.sets.looks_at(*source));
        let mut records: Option<Records> = gather.map(|gather| gather.sink());
        let mut observer = gather.zip(records.as_mut()).map(|(gather, records)| UnitObserver::new(&rules.sets, &gather.key, *source, unit.file, records));
        let unit_rules = UnitRules {
            checker: Some(Arc::clone(if gather.is_some() { &own.gathering } else { &own.checker })),
            rows: &own.rows,
            violations: violations.as_ref().and_then(|violations| violations.of_file(*source, unit.file)),
            observer: observer.as_mut().map(|observer| observer as &mut dyn Observe),
        };
        let tally = read::ingest_unit_with(ingest, unit, unit_rules, accept)?;
        let counted = observer.map(UnitObserver::finish);
        if let Some((gather, mut records)) = gather.zip(records) {
            records.flush()?;
            counted.iter().for_each(|counted| gather.add(*source, counted));
        }
        Ok(tally)
    }

    fn untouched(&self) -> Vec<usize> {
        let states = self.lock();
        (0..states.units.len()).filter(|&number| matches!(states.units[number], UnitState::Untouched)).collect()
    }

    /// Waits for scans that are still checking, and gives the tally of every unit, in unit order.
    fn counted(&self) -> Result<Vec<UnitTally>> {
        let mut states = self.lock();
        while states.reading > 0 {
            states = self.settled.wait(states).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let counted = states.units.iter().map(|state| if let UnitState::Counted(tally) = state { Some(tally.clone()) } else { None });
        counted
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Failure::new(Culprit::Outside, "unit-not-read", format!("source {} was not read to its end", self.source.name)).into())
    }
}

struct UnitSink<'a> {
    /// The user sees its rows.
    shows: bool,
    emit: &'a mut dyn FnMut(RecordBatch) -> ControlFlow<()>,
    quarantine: Option<QuarantineWriter<'a>>,
    progress: &'a Progress,
}

impl Accept for UnitSink<'_> {
    fn batch(&mut self, batch: RecordBatch) -> ControlFlow<()> {
        if self.shows {
            self.progress.add_rows(batch.num_rows() as u64);
        }
        (self.emit)(batch)
    }

    fn rejected(&mut self, record: &Rejected<'_>) -> Result<()> {
        if self.shows {
            self.progress.add_rejected(1);
        }
        self.quarantine.as_mut().map_or(Ok(()), |writer| writer.push(record))
    }
}

/// The table that is registered: a shared [`CheckedSource`]. Filters are never pushed into it, limits are ignored.
#[derive(Debug)]
pub struct CheckedTable(pub Arc<CheckedSource>);

#[async_trait]
impl TableProvider for CheckedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let projection = projection.cloned().unwrap_or_else(|| (0..self.0.schema.fields().len()).collect());
        let partitions = state.config().target_partitions().min(self.0.units.len()).max(1);
        Ok(Arc::new(CheckedScan::new(Arc::clone(&self.0), projection, partitions)?))
    }
}

/// The leaf of every physical plan: partitions take units from one queue, so that threads finish together.
#[derive(Debug)]
pub struct CheckedScan {
    source: Arc<CheckedSource>,
    projection: Arc<[usize]>,
    next: Arc<AtomicUsize>,
    properties: Arc<PlanProperties>,
}

impl CheckedScan {
    fn new(source: Arc<CheckedSource>, projection: Vec<usize>, partitions: usize) -> EngineResult<Self> {
        let schema = Arc::new(source.schema.project(&projection)?);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { source, projection: projection.into(), next: Arc::default(), properties: Arc::new(properties) })
    }
}

impl DisplayAs for CheckedScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedScan: source={}, units={}", self.source.source.name, self.source.units.len())
    }
}

impl ExecutionPlan for CheckedScan {
    fn name(&self) -> &'static str {
        "CheckedScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>) -> EngineResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _partition: usize, _context: Arc<TaskContext>) -> EngineResult<SendableRecordBatchStream> {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(self.properties.eq_properties.schema()), 2);
        let rows = stream.tx();
        let (source, projection, next) = (Arc::clone(&self.source), Arc::clone(&self.projection), Arc::clone(&self.next));
        stream.spawn_blocking(move || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= source.units.len() {
                    return Ok(());
                }
                let mut emit = |batch| if rows.blocking_send(Ok(batch)).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
                source.ingest(number, &projection, &mut emit).map_err(|error: Error| source.failure.put(error))?;
            }
        });
        Ok(stream.build())
    }
}

/// All sources of a job, registered and ready to be read: what *prepare* takes.
#[derive(Debug)]
pub struct Checked {
    pub(crate) sources: Vec<Arc<CheckedSource>>,
    pub(crate) failure: FirstFailure,
}

impl Checked {
    /// Every source of the plan, to be read as planned.
    pub fn new(plan: &Plan, services: &Services, quarantine: Option<&Quarantined>, passes: &Passes) -> Self {
        let failure = FirstFailure::default();
        let source = |(index, (source, input)): (usize, (&Source, &Input))| {
            let pass = Pass {
                rules: Arc::clone(&plan.rules),
                source: index,
                violations: passes.violations.clone(),
                gather: passes.gather.clone(),
                ahead: passes.ahead,
            };
            let reading = Reading {
                stores: Arc::clone(&services.stores),
                batch_rows: services.limits.batch_rows,
                quarantine: quarantine.cloned(),
                failure: failure.clone(),
                progress: Arc::clone(&services.progress),
                pass,
            };
            CheckedSource::new(source.clone(), input.files.clone(), input.units.clone(), reading)
        };
        let sources = plan.contract.job.sources.iter().zip(&plan.inputs).enumerate().map(source).collect();
        Self { sources, failure }
    }

    /// As [`Checked::new`], and registers every source as a table.
    ///
    /// # Errors
    /// A source's name cannot be a table's.
    pub fn register(plan: &Plan, context: &SessionContext, services: &Services, quarantine: Option<&Quarantined>, passes: &Passes) -> Result<Self> {
        let all = Self::new(plan, services, quarantine, passes);
        for checked in &all.sources {
            context
                .register_table(TableReference::bare(checked.source.name.as_str()), Arc::new(CheckedTable(Arc::clone(checked))))
                .map_err(|error| all.failure.explain(&error))?;
        }
        Ok(all)
    }

    /// Reads what the query did not touch and adds everything up. Call it from a blocking thread, after the query.
    ///
    /// # Errors
    /// What reading can fail with; the failure of the earliest unit.
    pub fn finish(&self, threads: usize) -> Result<Tally> {
        let left: Vec<(usize, usize)> =
            self.sources.iter().enumerate().flat_map(|(index, source)| source.untouched().into_iter().map(move |unit| (index, unit))).collect();
        let next = AtomicUsize::new(0);
        let errors = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, left.len().max(1)) {
                scope.spawn(|| {
                    while let Some(&(source, unit)) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(error) = self.sources[source].ingest(unit, &[], &mut |_| ControlFlow::Break(())) {
                            errors.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert((source, unit), error);
                            next.store(left.len(), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        if let Some((_, error)) = errors.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).pop_first() {
            return Err(error);
        }
        let mut tally = Tally { file_rejections: self.sources.iter().map(|source| vec![BTreeMap::new(); source.files.len()]).collect(), ..Tally::default() };
        for (index, source) in self.sources.iter().enumerate() {
            let mut file_rows = vec![0; source.files.len()];
            let name = source.source.name.as_str();
            let mut lengths = BTreeMap::new();
            for (unit, counted) in source.units.iter().zip(source.counted()?) {
                if let Some(rows) = file_rows.get_mut(unit.file) {
                    *rows += counted.rows_read;
                }
                tally.rows_read += counted.rows_read;
                tally.reject(index, counted.rows_rejected);
                tally.rows_passed_over += counted.rows_passed_over;
                tally.rows_with_added_fields += counted.rows_with_added_fields;
                for (ragged, rows) in counted.ragged {
                    *lengths.entry(ragged).or_default() += rows;
                }
                for (rule, rows) in counted.rejections {
                    let code = rule.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')).unwrap_or(&rule);
                    tally.count(name, (index, unit.file), code, rows, counted.first.get(&rule).map_or(&[], Vec::as_slice));
                }
            }
            tally.file_rows.push(file_rows);
            tally.source_ragged.push(lengths);
        }
        Ok(tally)
    }
}
