/** `npm run bench -- W1 --runs 3000 --concurrency 64 --repeat 3`: prints one line of JSON. */
import { type Engine, startEngine } from './engine.js';
import { memoryOf } from './meter.js';
import { type Measurable, type Options, parseOptions, USAGE, UsageError } from './options.js';
import { comparePairs } from './pairs.js';
import { writeTable } from './table.js';
import { type Report, WORKLOAD_FUNCTIONS } from './workloads.js';

const MAX_ERROR_LENGTH = 2_000;

function memoryOfProcesses(engine: Engine): Report {
  return { server: memoryOf(engine.serverPids), worker: memoryOf([engine.workerPid]) };
}

/** Measures a workload. A failure is in the report. */
async function measureWorkload(options: Measurable): Promise<Report> {
  let report: Report = {};
  let engine: Engine | undefined;
  let isInterrupted = false;
  // The measurement fails when its processes end. The report then contains the reason.
  const interrupt = (): void => {
    isInterrupted = true;
    void engine?.stop();
  };
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  try {
    engine = await startEngine(options);
    report.idle = memoryOfProcesses(engine);
    report = { ...report, ...(await WORKLOAD_FUNCTIONS[options.workload](engine, options)) };
    report.end = memoryOfProcesses(engine);
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    report.error = isInterrupted ? 'interrupted' : text.slice(0, MAX_ERROR_LENGTH);
  }
  process.off('SIGINT', interrupt);
  process.off('SIGTERM', interrupt);
  await engine?.stop();
  return report;
}

async function bench(options: Options): Promise<number> {
  const { workload } = options;
  if (workload === 'table') return writeTable(options, measureWorkload);
  if (workload === 'pairs') {
    console.log(JSON.stringify(await comparePairs(options)));
    return 0;
  }
  const measurement: Measurable = { ...options, workload };
  const { verify, sdk, via, store, nodes, checkpoint } = measurement;
  const placement = store === 'embedded' ? { via, store } : { via, store, nodes };
  const checkpointFields = checkpoint > 1 ? { checkpoint } : {};
  const report: Report = {
    engine: 'everstep',
    sdk,
    ...placement,
    ...checkpointFields,
    w: workload,
    node: process.version,
    verify,
    ...(await measureWorkload(measurement)),
  };
  // Results are comparable only if they are measured on one machine in one session.
  if (sdk !== 'everstep' && report.error === undefined)
    report.everstep = await measureWorkload({ ...measurement, sdk: 'everstep' });
  if (via !== 'http' && options.beside && report.error === undefined)
    report.http = await measureWorkload({ ...measurement, via: 'http' });
  if (store !== 'embedded' && options.beside && report.error === undefined) {
    report.embedded = await measureWorkload({ ...measurement, store: 'embedded', nodes: 1, database: null });
  }
  if (checkpoint > 1 && options.beside && report.error === undefined) {
    report.single = await measureWorkload({ ...measurement, checkpoint: 1 });
  }
  console.log(JSON.stringify(report));
  return report.error === undefined ? 0 : 1;
}

try {
  process.exitCode = await bench(parseOptions(process.argv.slice(2), process.env));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
