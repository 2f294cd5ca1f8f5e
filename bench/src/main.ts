/** `npm run bench -- W1 --runs 3000 --concurrency 64 --repeat 3`: prints one line of JSON. */
import { type Engine, startEngine } from './engine.js';
import { memoryOf } from './meter.js';
import { type Measurable, type Options, parseOptions, USAGE, UsageError } from './options.js';
import { comparePairs } from './pairs.js';
import { writeTable } from './table.js';
import { type Report, WORK } from './workloads.js';

const MAX_ERROR_LENGTH = 2_000;

function memoryOfBoth(engine: Engine): Report {
  return { server: memoryOf(engine.serverPids), worker: memoryOf([engine.workerPid]) };
}

/** Prints nothing; failures are in the report. */
async function measured(options: Measurable): Promise<Report> {
  let report: Report = {};
  let engine: Engine | undefined;
  let interrupted = false;
  // When its processes end, the measurement fails and the report contains the reason.
  const interrupt = (): void => {
    interrupted = true;
    void engine?.stop();
  };
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  try {
    engine = await startEngine(options);
    report.idle = memoryOfBoth(engine);
    report = { ...report, ...(await WORK[options.workload](engine, options)) };
    report.end = memoryOfBoth(engine);
  } catch (error) {
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
    report.error = interrupted ? 'interrupted' : words.slice(0, MAX_ERROR_LENGTH);
  }
  process.off('SIGINT', interrupt);
  process.off('SIGTERM', interrupt);
  await engine?.stop();
  return report;
}

async function bench(options: Options): Promise<number> {
  const { workload: w } = options;
  if (w === 'table') return writeTable(options, measured);
  if (w === 'pairs') {
    console.log(JSON.stringify(await comparePairs(options)));
    return 0;
  }
  const one: Measurable = { ...options, workload: w };
  const { verify, sdk, via, store, nodes, checkpoint } = one;
  const which = store === 'embedded' ? { via, store } : { via, store, nodes };
  const grouped = checkpoint > 1 ? { checkpoint } : {};
  const report: Report = {
    engine: 'everstep',
    sdk,
    ...which,
    ...grouped,
    w,
    node: process.version,
    verify,
    ...(await measured(one)),
  };
  // The figures of two SDKs are comparable only when measured on one machine at the same time.
  if (sdk !== 'everstep' && report.error === undefined) report.everstep = await measured({ ...one, sdk: 'everstep' });
  if (via !== 'http' && options.beside && report.error === undefined) report.http = await measured({ ...one, via: 'http' });
  if (store !== 'embedded' && options.beside && report.error === undefined) {
    report.embedded = await measured({ ...one, store: 'embedded', nodes: 1, database: null });
  }
  if (checkpoint > 1 && options.beside && report.error === undefined) {
    report.single = await measured({ ...one, checkpoint: 1 });
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
