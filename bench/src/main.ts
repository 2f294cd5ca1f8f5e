/** `npm run bench -- W1 --runs 3000 --concurrency 64 --repeat 3`: one line of JSON. */
import { type Engine, startEngine } from './engine.js';
import { memoryOf } from './meter.js';
import { type Options, parseOptions, USAGE, UsageError } from './options.js';
import { type Report, WORK } from './workloads.js';

const MAX_ERROR_LENGTH = 2_000;

function memoryOfBoth(engine: Engine): Report {
  return { server: memoryOf(engine.serverPid), worker: memoryOf(engine.workerPid) };
}

async function bench(options: Options): Promise<number> {
  let report: Report = { engine: 'everstep', w: options.workload, node: process.version, verify: options.verify };
  let engine: Engine | undefined;
  let interrupted = false;
  // What is being measured fails when its processes end, and the report says why.
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
  console.log(JSON.stringify(report));
  await engine?.stop();
  return report.error === undefined ? 0 : 1;
}

try {
  process.exitCode = await bench(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
